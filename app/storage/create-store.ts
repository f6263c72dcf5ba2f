import { createFilesystemStore } from './filesystem/filesystem-store.ts';
import type { FilesystemConfig } from './filesystem/filesystem-store.ts';
import type { ObjectStore } from './object-store.ts';
import type { S3Config } from './s3/s3-client.ts';
import { createS3Store } from './s3/s3-store.ts';

/** Plain data: it also travels to worker threads. */
export type StoreConfig =
  | ({ driver: 'filesystem' } & FilesystemConfig)
  | ({ driver: 's3' } & S3Config);

/** Throws storage_unavailable when the directory cannot be made; an S3 bucket is first asked by `ping`. */
export async function createObjectStore(config: StoreConfig): Promise<ObjectStore> {
  return config.driver === 's3' ? createS3Store(config) : createFilesystemStore(config);
}
