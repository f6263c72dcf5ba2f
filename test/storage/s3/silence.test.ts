import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { createS3Store } from '../../../app/storage/s3/store.ts';
import { testBytes } from '../../support/documents/bytes.ts';
import { collect, newKey, putBytes, throwsCode } from '../../support/documents/stored.ts';

async function startSilent(t: ExecutionContext, serve: RequestListener) {
  const server = createServer(serve);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const own = { accessKeyId: 'test', secretAccessKey: 'test', bucket: 'bucket' };
  const store = createS3Store(
    { ...own, endpoint, region: 'us-east-1', forcePathStyle: true, checksums: 'when_supported' },
    { answerMs: 300 },
  );
  t.teardown(() => store.close());
  return store;
}

const upload = { key: newKey(), uploadId: 'upload' };
const part = { partNumber: 1, etag: 'etag' };

test('a request to a silent server is given up after a timeout', async (t) => {
  t.timeout(30_000);
  const store = await startSilent(t, () => undefined);
  const operations = {
    createMultipart: () => store.createMultipart(newKey()),
    findLostParts: () => store.findLostParts(upload.key, upload.uploadId, [part]),
    abortMultipart: () => store.abortMultipart(upload.key, upload.uploadId),
    stat: () => store.stat(upload.key),
    get: () => store.get(upload.key),
    delete: () => store.delete(upload.key, 'id:version'),
    listUploads: () => collect(store.listUploads()),
    listObjects: () => collect(store.listObjects()),
  };
  await Promise.all(
    Object.values(operations).map((operation) => throwsCode(t, operation(), 'storage_unavailable')),
  );
});

test('completions and parts may take longer than the response timeout', async (t) => {
  const store = await startSilent(t, (request, response) => {
    const answer = {
      PUT: '',
      POST: '<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>',
    }[request.method ?? ''];
    request.resume().on('end', () => {
      const send = () => response.writeHead(200, { etag: '"e"' }).end(answer);
      if (answer === undefined) send();
      else setTimeout(send, 1_000);
    });
  });
  t.like(await putBytes(store, upload, 1, testBytes(1_000, 1)), { partNumber: 1 });
  t.like(await store.completeMultipart(upload.key, upload.uploadId, [part]), {
    version: 'etag:e',
  });
});

test('a body that arrives slowly is not truncated', async (t) => {
  const store = await startSilent(t, (_request, response) => {
    response.writeHead(200, { etag: '"e"', 'content-length': 2 });
    response.write('a');
    setTimeout(() => response.end('b'), 1_000);
  });
  const { body } = await store.get(upload.key);
  t.is(Buffer.concat(await collect<Buffer>(body)).toString(), 'ab');
});
