/** Sends parts to S3 by the AWS SDK with nothing in between. It hashes what it sends, too. */
import { randomBytes } from 'node:crypto';
import { UploadPartCommand } from '@aws-sdk/client-s3';
import { createS3Client, type S3Config } from '../../../app/storage/s3/client.ts';
import { answerParent } from '../../support/processes/child.ts';
import { partBytes } from './part-bytes.ts';

export interface SdkShipment {
  config: S3Config;
  key: string;
  uploadId: string;
  parts: number;
  concurrency: number;
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
