import {
  createFilesystemStore,
  type FilesystemConfig,
  type FilesystemOptions,
} from './filesystem/filesystem-store.ts';
import type { ObjectStore } from './interface/object-store.ts';
import type { S3Config } from './s3/client.ts';

/** Plain data: it also travels to worker threads. */
export type StoreConfig =
  | ({ driver: 'filesystem' } & FilesystemConfig)
  | ({ driver: 's3' } & S3Config);

/**
 * The store need not be there yet: what is missing is storage_unavailable until it is back.
 * Throws storage_unavailable when a directory may be made and cannot.
 */
export async function createObjectStore(
  config: StoreConfig,
  options?: FilesystemOptions,
): Promise<ObjectStore> {
  if (config.driver === 'filesystem') return createFilesystemStore(config, options);
  // Amazon's SDK is large, and only some need it.
  const { createS3Store } = await import('./s3/store.ts');
  return createS3Store(config);
}
