/** Sends parts directly to S3 through the AWS SDK, which also hashes what it sends. */
import { randomBytes } from 'node:crypto';
import { UploadPartCommand } from '@aws-sdk/client-s3';
import { createS3Client, type S3Config } from '../../../app/storage/s3/client.ts';
import { answerParent } from '../../support/processes/child.ts';
import { partBytes } from './part-bytes.ts';

export interface SdkShipment {
  readonly config: S3Config;
  readonly key: string;
  readonly uploadId: string;
  readonly parts: number;
  readonly concurrency: number;
}

const Body = randomBytes(partBytes);

answerParent(async (shipment: SdkShipment): Promise<number> => {
  const { config, key: Key, uploadId: UploadId, parts, concurrency } = shipment;
  const client = createS3Client(config);
  const numbers = Array.from({ length: parts }, (_, index) => index + 1).values();
  const startedAt = performance.now();
  const lane = async () => {
    for (const PartNumber of numbers) {
      const target = { Bucket: config.bucket, Key, UploadId, PartNumber };
      await client.send(new UploadPartCommand({ ...target, Body }));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  const ms = performance.now() - startedAt;
  client.destroy();
  return ms;
});
