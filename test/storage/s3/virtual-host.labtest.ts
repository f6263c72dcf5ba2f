import { randomUUID } from 'node:crypto';
import test from 'ava';
import { createObjectStore } from '../../../app/storage/create-store.ts';
import { objectStoreContract } from '../contract/object-store-contract.ts';
import { createLabBucket, labVirtualHostConfig } from './servers/lab-bucket.ts';
import { resolveLocalhostNames } from './servers/localhost-names.ts';

const config = labVirtualHostConfig(`virtual-${randomUUID()}`);
const names = resolveLocalhostNames();

objectStoreContract('S3 virtual host', async () =>
  createObjectStore(await createLabBucket(config, { versioned: false })),
);

test('the host names the bucket', async (t) => {
  const store = await createObjectStore({ driver: 's3', ...config });
  await store.ping();
  await store.close();
  t.true(names.has(`${config.bucket}.s3.localhost`));
});
