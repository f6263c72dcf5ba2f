import { CreateBucketCommand, PutBucketVersioningCommand } from '@aws-sdk/client-s3';
import { until } from '../../../../app/dev/processes/until.ts';
import type { StoreConfig } from '../../../../app/storage/create-store.ts';
import { assertBucket } from '../../../../app/storage/s3/bucket.ts';
import { createS3Client, type S3Config } from '../../../../app/storage/s3/client.ts';

function environment(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '')
    throw new Error(`${name} is not set: run eval "$(test/labs/s3-lab up)"`);
  return value;
}

/** Returns the configuration of a bucket on the server that test/labs/s3-lab started. */
export function labConfig(bucket: string, checksums: S3Config['checksums']): S3Config {
  return {
    endpoint: environment('S3_ENDPOINT'),
    region: environment('S3_REGION'),
    bucket,
    accessKeyId: environment('S3_ACCESS_KEY_ID'),
    secretAccessKey: environment('S3_SECRET_ACCESS_KEY'),
    forcePathStyle: true,
    checksums,
  };
}

/**
 * Returns the configuration of a bucket named by the host instead of the path, on the same server.
 */
export function labVirtualHostConfig(bucket: string): S3Config {
  const endpoint = environment('S3_VIRTUAL_ENDPOINT');
  return { ...labConfig(bucket, 'when_supported'), endpoint, forcePathStyle: false };
}

export async function createLabBucket(
  config: S3Config,
  { versioned }: { readonly versioned: boolean },
): Promise<StoreConfig> {
  const client = createS3Client(config);
  await client.send(new CreateBucketCommand({ Bucket: config.bucket }));
  if (versioned) {
    const VersioningConfiguration = { Status: 'Enabled' as const };
    await client.send(
      new PutBucketVersioningCommand({ Bucket: config.bucket, VersioningConfiguration }),
    );
  }
  // A busy server needs time for a new bucket.
  const answers = () =>
    assertBucket(client, config.bucket).then(
      () => true,
      () => false,
    );
  await until(answers, { what: 'the new bucket', timeoutMs: 60_000 });
  client.destroy();
  return { driver: 's3', ...config };
}
