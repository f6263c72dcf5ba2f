import { exec } from 'node:child_process';
import { createPublicKey, hash, verify } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import {
  maxBatchEntries,
  maxEntryBytes,
  maxSealedBytes,
  type EntryFault,
  type SealResult,
} from '../../signer/protocol/protocol.ts';
import { toSealedText } from '../../signer/protocol/sealed-text.ts';
import { canonicalText, sampleEntry, sampleText } from './sample-entry.ts';
import {
  createTokenFixture,
  startSigner,
  type RunningSigner,
  type TokenFixture,
} from '../support/audit/token-fixture.ts';

let fixture: TokenFixture;
let signer: RunningSigner;

test.before(async () => {
  fixture = await createTokenFixture();
  await fixture.tool('init');
  signer = await startSigner(fixture);
});

test.after.always(async () => {
  await signer?.stop();
  await fixture?.remove();
});

function sealOf(result: SealResult | undefined) {
  if (result === undefined || 'error' in result)
    throw new Error(`not sealed: ${JSON.stringify(result)}`);
  return result;
}

/** Returns the text that a seal of an entry is about. */
function sealedText(text: string, result: SealResult | undefined): string {
  return toSealedText(text, JSON.parse(text) as object, sealOf(result));
}

test('a full batch is sealed, in order, with signatures that node:crypto verifies', async (t) => {
  const entries = Array.from({ length: maxBatchEntries }, () => sampleText());
  const keyId = await signer.keyId('audit');
  const key = (await signer.client.listKeys()).find((key) => key.keyId === keyId);
  const spki = Buffer.from(key?.publicKey ?? '', 'base64');
  const publicKey = createPublicKey({ key: spki, format: 'der', type: 'spki' });
  const seals = (await signer.seal(entries)).map(sealOf);
  t.deepEqual(
    seals.map((seal) => seal.id),
    entries.map((entry) => entry.id),
  );
  for (const [index, { text }] of entries.entries()) {
    const seal = sealOf(seals[index]);
    const sealed = sealedText(text, seal);
    t.is(seal.hash, hash('sha3-256', sealed));
    t.is(seal.keyId, hash('sha256', spki).slice(0, 32));
    t.true(
      verify('sha3-256', Buffer.from(sealed), publicKey, Buffer.from(seal.signature, 'base64')),
    );
  }
});

test('the openssl command alone verifies a seal', async (t) => {
  const entry = sampleText();
  const seal = sealOf((await signer.seal([entry]))[0]);
  const key = (await signer.client.listKeys()).find(({ keyId }) => keyId === seal.keyId);
  const path = (name: string): string => join(fixture.directory, name);
  await writeFile(path('entry.json'), sealedText(entry.text, seal));
  await writeFile(path('sig.der'), Buffer.from(seal.signature, 'base64'));
  const base64 = key?.publicKey.replaceAll(/.{64}/g, '$&\n');
  const pem = `-----BEGIN PUBLIC KEY-----\n${base64}\n-----END PUBLIC KEY-----\n`;
  await writeFile(path('key.pem'), pem);
  const command = `openssl dgst -sha3-256 -verify key.pem -signature sig.der entry.json`;
  const { stdout } = await promisify(exec)(command, { cwd: fixture.directory });
  t.is(stdout.trim(), 'Verified OK');
});

test('an invalid entry gets its fault in its own place, and the others are sealed', async (t) => {
  const [first, last, other] = [sampleText(), sampleText(), sampleText()];
  const results = await signer.seal([
    first,
    { id: 'a', text: 'not JSON' },
    { id: 'b', text: canonicalText({ transfer: 'all' }) },
    { id: 'c', text: other.text },
    { id: 'd', text: 'x'.repeat(maxEntryBytes + 1) },
    { id: other.id, text: ` ${other.text}` },
    last,
  ]);
  t.deepEqual(results.slice(1, -1), [
    { id: 'a', error: 'not_canonical' },
    { id: 'b', error: 'not_an_entry' },
    { id: 'c', error: 'id_mismatch' },
    { id: 'd', error: 'too_large' },
    { id: other.id, error: 'not_canonical' },
  ]);
  t.is(sealOf(results[0]).hash, hash('sha3-256', sealedText(first.text, results[0])));
  t.is(sealOf(results.at(-1)).hash, hash('sha3-256', sealedText(last.text, results.at(-1))));
});

test('concurrent batches do not mix', async (t) => {
  const batches = Array.from({ length: 6 }, () => Array.from({ length: 40 }, () => sampleText()));
  const responses = await Promise.all(batches.map((batch) => signer.seal(batch)));
  t.deepEqual(
    responses.map((results) => results.map((result) => sealOf(result).hash)),
    batches.map((batch, at) =>
      batch.map(({ text }, index) => hash('sha3-256', sealedText(text, responses[at]?.[index]))),
    ),
  );
});

test('the sealed text is canonical, and has the time by the clock of the signer', async (t) => {
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
  const before = Date.now();
  for (const [timestamp, late] of [
    [minutesAgo(-0.9), false],
    [minutesAgo(9.9), false],
    [minutesAgo(10.1), true],
    ['2016-02-29T23:59:59.999Z', true],
  ] as const) {
    const { id, text } = sampleText({ timestamp, data: { '"outcome":': ',"seq":7,', z: null } });
    const seal = sealOf((await signer.seal([{ id, text }]))[0]);
    t.is(seal.late, late, timestamp);
    t.true(Date.parse(seal.sealedAt) >= before && Date.parse(seal.sealedAt) <= Date.now());
    const members = { ...(late ? { late } : {}), sealedAt: seal.sealedAt };
    t.is(sealedText(text, seal), canonicalText({ ...(JSON.parse(text) as object), ...members }));
  }
});

test('an entry of the future, of another vault or with a seal is not sealed', async (t) => {
  const own = sampleEntry();
  const later = new Date(Date.now() + 65_000).toISOString();
  const sealedAt = new Date().toISOString();
  const wrong: [object, EntryFault][] = [
    [{ ...own, timestamp: later }, 'future_timestamp'],
    [{ ...own, issuer: 'https://elsewhere.example' }, 'wrong_issuer'],
    [{ ...own, issuer: `${own.issuer}/` }, 'wrong_issuer'],
    [{ ...own, issuer: undefined }, 'not_an_entry'],
    [{ ...own, v: 1 }, 'not_an_entry'],
    [{ ...own, sealedAt }, 'not_an_entry'],
    [{ ...own, late: true }, 'not_an_entry'],
    [{ ...own, id: own.id.toUpperCase() }, 'not_an_entry'],
  ];
  const results = await signer.seal(
    wrong.map(([entry]) => ({ id: own.id, text: canonicalText(entry) })),
  );
  t.deepEqual(
    results,
    wrong.map(([, error]) => ({ id: own.id, error })),
  );
});

test('the longest text that is taken becomes the longest that is published', async (t) => {
  const filled = (bytes: number) => sampleEntry({ data: { filled: 'x'.repeat(bytes) } });
  const overhead = Buffer.byteLength(canonicalText(filled(0)));
  const entry = sampleEntry({
    timestamp: new Date(Date.now() - 3_600_000).toISOString(),
    data: { filled: 'x'.repeat(maxEntryBytes - overhead) },
  });
  const text = canonicalText(entry);
  t.is(Buffer.byteLength(text), maxEntryBytes);
  const [result] = await signer.seal([{ id: entry.id, text }]);
  const bytes = Buffer.byteLength(sealedText(text, result));
  t.true(bytes > maxEntryBytes && bytes <= maxSealedBytes, String(bytes));
});
