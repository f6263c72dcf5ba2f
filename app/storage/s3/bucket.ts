import { HeadBucketCommand, type S3Client } from '@aws-sdk/client-s3';
import { StorageError } from '../interface/storage-error.ts';

const limitMs = 3_000;

/** Throws storage_unavailable unless the bucket exists and our credentials may access it. */
export async function assertBucket(client: S3Client, Bucket: string): Promise<void> {
  const abortSignal = AbortSignal.timeout(limitMs);
  try {
    await client.send(new HeadBucketCommand({ Bucket }), { abortSignal });
  } catch (cause) {
    throw new StorageError('storage_unavailable', { cause });
  }
}
