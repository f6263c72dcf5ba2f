import { randomUUID } from 'node:crypto';
import { createObjectStore } from '../../../app/storage/create-store.ts';
import { objectStoreContract } from '../contract/object-store-contract.ts';
import { createLabBucket, labConfig } from './servers/lab-bucket.ts';

const config = labConfig(`unchecked-${randomUUID()}`, 'when_required');

objectStoreContract('S3 unchecked', async () =>
  createObjectStore(await createLabBucket(config, { versioned: false })),
);
