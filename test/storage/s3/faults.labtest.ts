import { randomUUID } from 'node:crypto';
import { Transform } from 'node:stream';
import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { createObjectHasher } from '../../../app/storage/object-hash.ts';
import { createS3Store } from '../../../app/storage/s3/store.ts';
import { bodyOf, partBytes, testBytes } from '../../support/documents/bytes.ts';
import { everythingThrows, fillStore } from '../contract/every-operation.ts';
import { openUpload, putBytes, throwsCode } from '../../support/documents/stored.ts';
import { createLabBucket, labConfig } from './servers/lab-bucket.ts';
import { startHoldingLine } from './servers/holding-line.ts';
import { startLine } from './servers/line.ts';

const config = labConfig(`faults-${randomUUID()}`, 'when_supported');
test.before(() => createLabBucket(config, { versioned: false }));

/** Flips one bit in every long chunk. */
function flipBits(): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (chunk.length > 10_000) chunk.writeUInt8(chunk.readUInt8(9_000) ^ 1, 9_000);
      done(null, chunk);
    },
  });
}

test('a part changed in transit is not stored', async (t) => {
  await using line = await startLine(config.endpoint as string, { filter: flipBits });
  const store = createS3Store(config);
  const behindLine = createS3Store({ ...config, endpoint: `http://${line.host}` });
  t.teardown(async () => {
    await behindLine.close();
    await store.close();
  });
  const upload = await openUpload(store);
  const kept = await putBytes(store, upload, 1, testBytes(partBytes, 1));
  const changed = putBytes(behindLine, upload, 1, testBytes(partBytes, 2));
  await throwsCode(t, changed, 'storage_unavailable');
  await t.notThrowsAsync(store.completeMultipart(upload.key, upload.uploadId, [kept]));
});

test('a part can be aborted at once, even if all is sent and no response comes', async (t) => {
  await using line = await startHoldingLine(config.endpoint as string);
  const store = createS3Store({ ...config, endpoint: line.url });
  t.teardown(() => store.close());
  const upload = await openUpload(store);
  const abort = new AbortController();
  const bytes = testBytes(partBytes, 1);
  line.holdAfter(partBytes / 2);
  const part = { ...upload, partNumber: 1, size: bytes.length };
  const sent = store.putPart(part, bodyOf(bytes), { signal: abort.signal });
  await until(() => line.held().includes('x-amz-checksum-sha256:'), {
    what: 'the proxy to hold the end of the part',
    timeoutMs: 60_000,
  });
  const reason = new Error('gone');
  abort.abort(reason);
  t.is(await t.throwsAsync(sent), reason);
});

test('an unavailable server, a wrong key, a missing bucket: storage_unavailable', async (t) => {
  const contents = await fillStore(createS3Store(config));
  const line = await startLine(config.endpoint as string);
  await line[Symbol.asyncDispose]();
  const faults = [
    { endpoint: `http://${line.host}` },
    { secretAccessKey: 'wrong' },
    { bucket: `missing-${randomUUID()}` },
  ];
  for (const fault of faults) {
    const store = createS3Store({ ...config, ...fault });
    await everythingThrows(t, store, contents, 'storage_unavailable');
    const body = bodyOf(testBytes(partBytes, 1));
    const part = { ...contents.upload, partNumber: 1, size: partBytes };
    await throwsCode(t, store.putPart(part, body), 'storage_unavailable');
    t.is(body.errored, null);
    await store.close();
  }
});

test('hashing an object of an unavailable server fails', async (t) => {
  const hasher = createObjectHasher(
    { driver: 's3', ...config, secretAccessKey: 'wrong' },
    { concurrency: 1 },
  );
  t.teardown(() => hasher.close());
  await throwsCode(t, hasher.hash('a/b', 'etag:x'), 'storage_unavailable');
});
