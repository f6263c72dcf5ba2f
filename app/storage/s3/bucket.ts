import {
  HeadBucketCommand,
  ListObjectsV2Command,
  S3ServiceException,
  type S3Client,
} from '@aws-sdk/client-s3';
import { StorageError } from '../interface/storage-error.ts';

/** Milliseconds within which a server that is well responds. */
const promptMs = 3_000;

/**
 * Throws storage_unavailable unless the bucket exists and our credentials may access it, and if the
 * server does not say so within `limitMs`, which is 3 s by default.
 */
export async function assertBucket(
  client: S3Client,
  Bucket: string,
  limitMs = promptMs,
): Promise<void> {
  const abortSignal = AbortSignal.timeout(limitMs);
  try {
    await client.send(new HeadBucketCommand({ Bucket }), { abortSignal });
  } catch (error) {
    const cause = await explain(client, Bucket, error, abortSignal);
    throw new StorageError('storage_unavailable', { cause });
  }
}

/**
 * Returns the error that says why the server refused a bucket. A response to HEAD has no body, so
 * only its status tells, and servers use 404 for unknown credentials too.
 */
async function explain(
  client: S3Client,
  Bucket: string,
  error: unknown,
  abortSignal: AbortSignal,
): Promise<unknown> {
  if (!(error instanceof S3ServiceException)) return error;
  const list = client.send(new ListObjectsV2Command({ Bucket, MaxKeys: 1 }), { abortSignal });
  return list.then(
    () => error,
    (told: unknown) => (told instanceof S3ServiceException ? told : error),
  );
}
