import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { openS3Store } from '../../support/network/s3-store.ts';
import { testBytes } from '../../support/documents/bytes.ts';
import { everythingThrows, type Contents } from '../contract/every-operation.ts';
import { collect, newKey, putBytes, throwsCode } from '../../support/documents/stored.ts';

/**
 * Starts a server that stands in the place of the store and gives one response to everything, as a
 * proxy does whose server is gone.
 */
async function startWrongServer(t: ExecutionContext, status: number, type: string, text: string) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(status, { 'content-type': type }).end(text);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const store = openS3Store(t, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return store;
}

const contents: Contents = {
  upload: { key: newKey(), uploadId: 'upload' },
  part: { partNumber: 1, etag: 'etag' },
  object: { key: newKey(), version: 'etag:etag' },
};

test('a 404 to everything, even the bucket, does not count as an ended upload', async (t) => {
  const store = await startWrongServer(t, 404, 'text/html', '<html>nothing here</html>');
  await everythingThrows(t, store, contents, 'storage_unavailable');
});

for (const [type, text] of [
  ['text/html', '<html>welcome</html>'],
  ['application/xml', '<?xml version="1.0"?><Welcome><To/></Welcome>'],
] as const) {
  test(`a 200 of type ${type} without a version is no object`, async (t) => {
    const store = await startWrongServer(t, 200, type, text);
    const { upload, part, object } = contents;
    const operations = {
      createMultipart: () => store.createMultipart(newKey()),
      putPart: () => putBytes(store, upload, 1, testBytes(1_000, 1)),
      completeMultipart: () => store.completeMultipart(upload.key, upload.uploadId, [part]),
      stat: () => store.stat(object.key),
      get: () => store.get(object.key),
      listObjects: () => collect(store.listObjects()),
      'get of a version': () => store.get(object.key, { ifVersion: object.version }),
    };
    for (const operation of Object.values(operations)) {
      await throwsCode(t, operation(), 'storage_unavailable');
    }
  });
}
