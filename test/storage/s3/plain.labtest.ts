import { randomUUID } from 'node:crypto';
import { createObjectStore } from '../../../app/storage/create-store.ts';
import { objectStoreContract } from '../contract/object-store-contract.ts';
import { createLabBucket, labConfig } from './servers/lab-bucket.ts';

const config = labConfig(`plain-${randomUUID()}`, 'when_supported');

objectStoreContract('S3 plain', async () =>
  createObjectStore(await createLabBucket(config, { versioned: false })),
);
