import { createServer } from 'node:http';
import test from 'ava';
import { openS3Store } from '../../support/network/s3-store.ts';
import { testBytes } from '../../support/documents/bytes.ts';
import { newKey, putBytes, throwsCode } from '../../support/documents/stored.ts';
import { listenLocally } from '../../support/network/local-server.ts';

/** The responses of servers that have no room, as their sources and documentation give them. */
const refusals = {
  'versitygw over a quota': [
    403,
    'QuotaExceeded',
    'Your request was denied due to quota exceeded.',
  ],
  'versitygw without space': [507, 'InsufficientStorage', 'No space left on device.'],
  'Ceph over a quota': [403, 'QuotaExceeded', ''],
  'MinIO below its threshold': [
    507,
    'XMinioStorageFull',
    'Storage backend has reached its minimum.',
  ],
  'MinIO over a quota': [400, 'XMinioAdminBucketQuotaExceeded', 'Bucket quota exceeded'],
  'MinIO without space': [500, 'InternalError', 'cause(no space left on device)'],
  'Huawei OBS over a quota': [
    403,
    'InsufficientStorageSpace',
    'Bucket storage space is not enough.',
  ],
  'an unknown server': [507, 'Whatever', ''],
} as const;

for (const [server, [status, code, message]] of Object.entries(refusals)) {
  test(`the refusal of ${server} is a full store`, async (t) => {
    const members = `<Code>${code}</Code><Message>${message}</Message>`;
    const text = `<?xml version="1.0"?><Error>${members}</Error>`;
    const port = await listenLocally(
      t,
      createServer((request, response) => {
        request.resume().on('end', () => {
          const isForBucket = request.method === 'HEAD';
          response.writeHead(isForBucket ? 200 : status, { 'content-type': 'application/xml' });
          response.end(isForBucket ? undefined : text);
        });
      }),
    );
    const store = openS3Store(t, `http://127.0.0.1:${port}`);
    const upload = { key: newKey(), uploadId: 'upload' };
    await throwsCode(t, store.createMultipart(newKey()), 'storage_full');
    await throwsCode(t, putBytes(store, upload, 1, testBytes(1_000, 1)), 'storage_full');
    const parts = [{ partNumber: 1, etag: 'etag' }];
    await throwsCode(t, store.completeMultipart(upload.key, 'upload', parts), 'storage_full');
  });
}
