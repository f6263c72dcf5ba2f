import {
  createFilesystemStore,
  type FilesystemConfig,
  type FilesystemOptions,
} from './filesystem/filesystem-store.ts';
import type { ObjectStore } from './interface/object-store.ts';
import type { S3Config } from './s3/client.ts';

/** Configuration of an object store. Plain data, since it is also sent to worker threads. */
export type StoreConfig =
  | ({ readonly driver: 'filesystem' } & FilesystemConfig)
  | ({ readonly driver: 's3' } & S3Config);

/**
 * Creates the client of an object store. The store itself need not be reachable yet: until it is,
 * its methods throw storage_unavailable.
 */
export async function createObjectStore(
  config: StoreConfig,
  options?: FilesystemOptions,
): Promise<ObjectStore> {
  if (config.driver === 'filesystem') return createFilesystemStore(config, options);
  // Amazon's SDK is large, so it is loaded only if the driver is s3.
  const { createS3Store } = await import('./s3/store.ts');
  return createS3Store(config);
}
