import { randomUUID } from 'node:crypto';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import test from 'ava';
import { createS3Client } from '../../../app/storage/s3/client.ts';
import { toServerKey } from '../../../app/storage/s3/key.ts';
import { createS3Store } from '../../../app/storage/s3/store.ts';
import { createTaskPool } from '../../../client/async/task-pool.ts';
import { collect, newKey } from '../../support/documents/stored.ts';
import { createLabBucket, labConfig } from './servers/lab-bucket.ts';

/** More objects than one page of a list holds. */
const count = 1_005;

const Bucket = `lists-${randomUUID()}`;
const config = labConfig(Bucket, 'when_supported');
test.before(() => createLabBucket(config, { versioned: false }));

test('uploads and objects of all pages are listed, even if some disappear meanwhile', async (t) => {
  t.timeout(120_000);
  const store = createS3Store(config);
  const client = createS3Client(config);
  t.teardown(async () => {
    client.destroy();
    await store.close();
  });
  const keys = Array.from({ length: count }, (_, index) =>
    newKey(`a & <b> \\ ${index}`),
  ).toSorted();
  const pool = createTaskPool(16);
  for (const key of keys) {
    await pool.start(async () => {
      await store.createMultipart(key);
      // Stores the object in one request instead of three, which makes no difference to a list.
      await client.send(new PutObjectCommand({ Bucket, Key: toServerKey(key), Body: 'x' }));
    });
  }
  await pool.finish();

  const objects = await collect(store.listObjects());
  t.deepEqual(objects.map(({ key }) => key).toSorted(), keys);
  const listed: string[] = [];
  for await (const { key, uploadId } of store.listUploads()) {
    listed.push(key);
    await store.abortMultipart(key, uploadId);
  }
  t.deepEqual(listed.toSorted(), keys);
  t.deepEqual(await collect(store.listUploads()), []);
});
