import { hexToBytes } from '@noble/hashes/utils.js';
import test from 'ava';
import { z } from 'zod';
import { decodeBase64, encodeBase64 } from '../../../client/bytes/base64.ts';
import {
  hashReport,
  openReport,
  readPrefix,
  sealReport,
} from '../../../client/memory/exchange/report.ts';
import { deriveReportKey } from '../../../client/memory/exchange/report-key.ts';
import { changesOf } from '../../../client/memory/values/remembered.ts';
import { readVectors } from '../../support/client/vectors.ts';

const Vector = z.object({
  masterKey: z.string().transform(hexToBytes),
  signingSeed: z.string().transform(hexToBytes),
  signingKey: z.string().transform(hexToBytes),
  writer: z.string(),
  number: z.int(),
  report: z.looseObject({
    documents: z.record(
      z.string(),
      z.object({ version: z.int(), change: z.int(), metadataHash: z.string() }),
    ),
    devices: z.record(z.string(), z.literal('registered')),
    previous: z.string(),
    isStart: z.boolean(),
    read: z.record(z.string(), z.int()),
  }),
  nonce: z.string().transform(hexToBytes),
  record: z.string(),
  hash: z.string(),
});

const vector = await readVectors('report.json', Vector);
const record = decodeBase64(vector.record);
const key = await deriveReportKey({
  masterKey: vector.masterKey,
  earlierKeys: [new Uint8Array(32)],
});

test('a report is sealed and opened as the vector says', async (t) => {
  const { nonce, report } = vector;
  const { documents, devices, previous, isStart, read } = report;
  const told = { ...changesOf({ documents, devices }), previous, isStart, read };
  t.deepEqual(await openReport(key, vector, vector, record), told);
  t.is(hashReport(record), vector.hash);
  t.deepEqual(readPrefix(record), { kind: 'report', generation: 2 });
  // Members may stand in another order, so the bytes may differ; the length does not.
  const sealed = await sealReport(key, vector, vector, told, { nonce });
  t.deepEqual(await openReport(key, vector, vector, sealed), told);
  t.is(encodeBase64(sealed).length, vector.record.length);
});

test('a report of another place, key, signer or kind does not open', async (t) => {
  const { writer, number, signingKey } = vector;
  const otherKey = await deriveReportKey({ masterKey: new Uint8Array(32) });
  const asList = record.slice();
  asList[1] = 1;
  t.deepEqual(
    await Promise.all([
      openReport(key, vector, { writer, number: number + 1 }, record),
      openReport(key, vector, { writer: crypto.randomUUID(), number }, record),
      openReport(otherKey, vector, vector, record),
      openReport(key, { signingKey: signingKey.toReversed() }, vector, record),
      openReport(key, vector, vector, asList),
    ]),
    Array.from({ length: 5 }, () => undefined),
  );
  for (let length = 0; length < 98; length += 1) {
    t.is(readPrefix(record.slice(0, length)), undefined);
  }
});
