import { randomUUID } from 'node:crypto';
import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { createS3Store } from '../../../app/storage/s3/store.ts';
import { partBytes, testBytes } from '../../support/documents/bytes.ts';
import { storeObject, throwsCode } from '../../support/documents/stored.ts';
import { createLabBucket, labConfig } from './servers/lab-bucket.ts';
import { startLine } from './servers/line.ts';

const config = labConfig(`reads-${randomUUID()}`, 'when_supported');
test.before(() => createLabBucket(config, { versioned: false }));

test('an abandoned read frees its socket, started or not', async (t) => {
  await using line = await startLine(config.endpoint as string);
  const store = createS3Store({ ...config, endpoint: `http://${line.host}` });
  t.teardown(() => store.close());
  const { key } = await storeObject(
    store,
    [1, 2, 3, 4].map((seed) => testBytes(partBytes, seed)),
  );
  const abort = new AbortController();
  const signals = [undefined, undefined, abort.signal, abort.signal];
  const reads = Array.from({ length: 20 }, (_, index) =>
    store.get(key, { signal: signals[index % 4] }),
  );
  const bodies = (await Promise.all(reads)).map(({ body }) => body);
  t.true(line.count() >= bodies.length);
  for (const [index, body] of bodies.entries()) {
    body.on('error', () => {});
    if (index % 2 === 0) await body[Symbol.asyncIterator]().next();
    if (signals[index % 4] === undefined) body.destroy();
  }
  abort.abort();
  await until(() => line.count() === 0, { what: 'the sockets to close', timeoutMs: 60_000 });
  t.pass();
});

test('a read whose connection breaks fails instead of ending', async (t) => {
  const line = await startLine(config.endpoint as string);
  const store = createS3Store({ ...config, endpoint: `http://${line.host}` });
  t.teardown(() => store.close());
  const { key } = await storeObject(
    store,
    [1, 2, 3, 4].map((seed) => testBytes(partBytes, seed)),
  );
  const { body } = await store.get(key, { range: { first: 1 } });
  await body[Symbol.asyncIterator]().next();
  await line[Symbol.asyncDispose]();
  const rest = async () => {
    for await (const _ of body);
  };
  await throwsCode(
    t,
    body.errored === null ? rest() : Promise.reject(body.errored),
    'storage_unavailable',
  );
});
