import { randomUUID } from 'node:crypto';
import { AbortMultipartUploadCommand, CreateMultipartUploadCommand } from '@aws-sdk/client-s3';
import { createS3Client, type S3Config } from '../../../app/storage/s3/client.ts';

/** Opens a multipart upload for `work`, and aborts it afterwards. */
export async function withMultipart<T>(
  config: S3Config,
  work: (upload: { readonly key: string; readonly uploadId: string }) => Promise<T>,
): Promise<T> {
  const client = createS3Client(config);
  const target = { Bucket: config.bucket, Key: randomUUID() };
  const { UploadId = '' } = await client.send(new CreateMultipartUploadCommand(target));
  try {
    return await work({ key: target.Key, uploadId: UploadId });
  } finally {
    await client.send(new AbortMultipartUploadCommand({ ...target, UploadId }));
    client.destroy();
  }
}
