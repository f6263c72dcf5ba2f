import type { ExecutionContext } from 'ava';
import { createS3Store } from '../../../app/storage/s3/store.ts';

/** Opens a store on an S3 server at this URL until the test ends. */
export function openS3Store(t: Pick<ExecutionContext, 'teardown'>, endpoint: string) {
  const store = createS3Store({
    endpoint,
    region: 'us-east-1',
    bucket: 'bucket',
    accessKeyId: 'test',
    secretAccessKey: 'test',
    forcePathStyle: true,
    checksums: 'when_supported',
  });
  t.teardown(() => store.close());
  return store;
}
