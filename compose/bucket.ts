/** Makes the bucket of docker-compose.yml, unless it exists. */
import { readFile } from 'node:fs/promises';
import { CreateBucketCommand, HeadBucketCommand, NotFound } from '@aws-sdk/client-s3';
import { createS3Client } from '../app/storage/s3/client.ts';

const directory = '/run/secrets/app';
const { STORAGE_BUCKET: bucket = '', STORAGE_ENDPOINT: endpoint } = process.env;
const client = createS3Client({
  endpoint,
  region: 'us-east-1',
  bucket,
  accessKeyId: await readFile(`${directory}/storage-access-key-id`, 'utf8'),
  secretAccessKey: await readFile(`${directory}/storage-secret-access-key`, 'utf8'),
  forcePathStyle: true,
  checksums: 'when_supported',
});
try {
  await client.send(new HeadBucketCommand({ Bucket: bucket }));
} catch (error) {
  if (!(error instanceof NotFound)) throw error;
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  console.log(`Made the bucket ${bucket}.`);
}
client.destroy();
