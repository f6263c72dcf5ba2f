import { randomUUID } from 'node:crypto';
import { ListPartsCommand } from '@aws-sdk/client-s3';
import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { createS3Client } from '../../../app/storage/s3/client.ts';
import { createS3Store } from '../../../app/storage/s3/store.ts';
import { createLabBucket, labConfig } from '../../storage/s3/servers/lab-bucket.ts';
import { readObject } from '../../support/documents/stored.ts';
import { startReadyVault } from '../../support/vault/vault.ts';
import { createApi } from '../../support/documents/uploads.ts';
import {
  bytesOf,
  complete,
  openSession,
  progress,
  putPart,
} from '../../support/documents/files.ts';
import { startHoldingLine } from '../../storage/s3/servers/holding-line.ts';
import { startPart } from '../parts/slow-part.ts';
import { createSql } from '../../support/vault/sql.ts';

const config = labConfig(`late-${randomUUID()}`, 'when_supported');
test.before(() => createLabBucket(config, { versioned: false }));

test('a part that reaches the store late corrupts no file and blocks no completion', async (t) => {
  await using line = await startHoldingLine(config.endpoint as string);
  const vault = await startReadyVault({
    STORAGE_DRIVER: 's3',
    STORAGE_ENDPOINT: line.url,
    STORAGE_REGION: config.region,
    STORAGE_BUCKET: config.bucket,
    STORAGE_ACCESS_KEY_ID: config.accessKeyId,
    STORAGE_SECRET_ACCESS_KEY: config.secretAccessKey,
    STORAGE_FORCE_PATH_STYLE: 'true',
  });
  t.teardown(() => vault.stop());
  const client = createS3Client(config);
  t.teardown(() => client.destroy());
  const sql = createSql(vault);
  const api = await createApi(vault);
  const [late, file] = [bytesOf(200_000), bytesOf(200_000)];
  const sessionId = await openSession(t, api, file.length);
  const [session] = await sql(
    'select storage_key as key, storage_upload_id as upload_id from upload_sessions where id = $1',
    [sessionId],
  );

  // The whole part has left the app but does not arrive before its request loses its claim.
  line.holdAfter(100_000);
  const given = startPart(vault, api, `/v1/uploads/${sessionId}/parts/1`, {
    'content-length': late.length,
  });
  given.request.end(late);
  await until(() => line.held().includes('x-amz-checksum-sha256:'), {
    what: 'the proxy to hold the end of the part',
    timeoutMs: 60_000,
  });
  await sql('update upload_parts set claimed_until = now() where session_id = $1', [sessionId]);
  t.is((await putPart(api, sessionId, 1, file)).status, 200);
  t.is((await given.answer).body.code, 'part_in_progress');

  // The part arrives only now.
  const listParts = new ListPartsCommand({
    Bucket: config.bucket,
    Key: String(session?.key),
    UploadId: String(session?.upload_id),
  });
  const lastModified = async () => JSON.stringify((await client.send(listParts)).Parts);
  const before = await lastModified();
  line.release();
  await until(async () => (await lastModified()) !== before, {
    what: 'the late part in the store',
    timeoutMs: 60_000,
  });

  const first = await complete(api, sessionId);
  t.log(`the first completion: ${first.status}`);
  if (first.status !== 200) {
    t.like(first.body, { statusCode: 400, code: 'invalid_parts' });
    t.like(first.body.details, [{ path: 'parts.1' }]);
    t.like((await progress(api, sessionId)).body, { status: 'IN_PROGRESS', uploadedParts: 0 });
    t.is((await putPart(api, sessionId, 1, file)).status, 200);
    t.is((await complete(api, sessionId)).status, 200);
  }
  const store = createS3Store(config);
  t.teardown(() => store.close());
  t.true(file.equals(await readObject(store, String(session?.key))));
});
