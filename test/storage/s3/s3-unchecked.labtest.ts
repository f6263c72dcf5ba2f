import { randomUUID } from 'node:crypto';
import { createObjectStore } from '../../../app/storage/create-store.ts';
import { objectStoreContract } from '../object-store-contract.ts';
import { createLabBucket, labConfig } from './lab-bucket.ts';

const config = labConfig(`unchecked-${randomUUID()}`, 'when_required');

objectStoreContract('S3 unchecked', async () =>
  createObjectStore(await createLabBucket(config, { versioned: false })),
);
