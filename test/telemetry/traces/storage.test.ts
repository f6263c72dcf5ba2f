import { createServer } from 'node:http';
import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { testBytes } from '../../support/documents/bytes.ts';
import { bytesOf, openSession, putPart } from '../../support/documents/files.ts';
import { newKey, putBytes } from '../../support/documents/stored.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { listenLocally } from '../../support/network/local-server.ts';
import { openS3Store } from '../../support/network/s3-store.ts';
import { ancestry } from '../../support/tracing/receiver.ts';
import { startTracedVault } from '../../support/tracing/traced-vault.ts';

const opened =
  '<InitiateMultipartUploadResult><UploadId>upload</UploadId></InitiateMultipartUploadResult>';

test('a request to S3 is a span of its request, without the key of the object', async (t) => {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://s3.test');
    paths.push(pathname);
    const body = searchParams.has('uploads') ? opened : '';
    request.resume().on('end', () => response.writeHead(200, { etag: '"e"' }).end(body));
  });
  const endpoint = `http://127.0.0.1:${await listenLocally(t, server)}`;
  const { vault, receiver } = await startTracedVault(t, {
    STORAGE_DRIVER: 's3',
    STORAGE_ENDPOINT: endpoint,
    STORAGE_BUCKET: 'bucket',
    STORAGE_ACCESS_KEY_ID: 'test',
    STORAGE_SECRET_ACCESS_KEY: 'test',
    STORAGE_FORCE_PATH_STYLE: 'true',
    STORAGE_DIRECTORY: undefined,
  });
  const untraced = { key: newKey(), uploadId: 'upload' };
  await putBytes(openS3Store(t, endpoint), untraced, 1, testBytes(1_000, 1));

  const api = await createApi(vault);
  const sessionId = await openSession(t, api, 1_000);
  paths.length = 0;
  t.is((await putPart(api, sessionId, 1, bytesOf(1_000))).status, 200);
  const { spans, texts } = receiver;
  const find = (name: string) =>
    until(() => spans.find((span) => span.name === name), {
      what: `the span ${name}`,
      timeoutMs: 30_000,
    });
  const request = await find('PUT /v1/uploads/:sessionId/parts/:partNumber');
  const part = await find('S3/UploadPart');
  t.deepEqual(ancestry(spans, part), ['S3/UploadPart', 'handle', request.name]);
  t.is(part.traceId, request.traceId);
  t.is(part.attributes['aws.s3.bucket'], 'bucket');
  t.is(spans.filter(({ name }) => name === 'S3/UploadPart').length, 1);
  // Requests about the bucket itself, which name no key, come at any time.
  const keys = paths.flatMap((path) => /^\/bucket\/(.+)$/.exec(path)?.[1] ?? []);
  t.true(keys.length > 0);
  for (const key of [...keys, untraced.key]) t.false(texts.some((text) => text.includes(key)));
});
