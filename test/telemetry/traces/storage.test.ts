import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { createS3Store } from '../../../app/storage/s3/store.ts';
import { inSpan } from '../../../signer/protocol/tracing/spans.ts';
import { testBytes } from '../../support/documents/bytes.ts';
import { newKey, putBytes } from '../../support/documents/stored.ts';
import { ancestry } from '../../support/tracing/receiver.ts';
import { traceThisProcess } from '../../support/tracing/traced-vault.ts';

test('a request to S3 is a span of its trace, without the key of the object', async (t) => {
  const receiver = await traceThisProcess(t);
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(200, { etag: '"e"' }).end());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  const store = createS3Store({
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'us-east-1',
    bucket: 'bucket',
    accessKeyId: 'test',
    secretAccessKey: 'test',
    forcePathStyle: true,
    checksums: 'when_supported',
  });
  t.teardown(() => store.close());

  const key = newKey();
  const upload = { key, uploadId: 'upload' };
  await putBytes(store, upload, 1, testBytes(1_000, 1));
  await inSpan('part', {}, () => putBytes(store, upload, 1, testBytes(1_000, 1)));
  const { spans, texts } = receiver;
  const part = await until(() => spans.find(({ name }) => name === 'S3/UploadPart'), {
    what: 'the span of the part',
    timeoutMs: 30_000,
  });
  await until(() => ancestry(spans, part).length === 2, { what: 'its parent', timeoutMs: 30_000 });
  t.deepEqual(ancestry(spans, part), ['S3/UploadPart', 'part']);
  t.is(part.attributes['aws.s3.bucket'], 'bucket');
  t.is(spans.filter(({ name }) => name === 'S3/UploadPart').length, 1);
  t.false(texts.some((text) => text.includes(key)));
});
