import type { Clock } from '../clock.ts';
import type { Database } from '../db/database.ts';
import type { Caller } from '../http/caller.ts';
import type { Tx } from '../db/database.ts';
import type { FileHashes } from './file-hashes.ts';

/** A completed upload, as a document takes it over. */
export interface CompletedFile {
  readonly sessionId: string;
  readonly storageKey: string;
  readonly objectVersion: string;
  readonly fileSize: number;
  /** SHA3-256 of the stored bytes, hex, computed here. */
  readonly fileHash: string;
}

/** What other features may ask of uploads. */
export interface Uploads {
  /**
   * The caller's completed upload at a path, once its hash is known; undefined unless it was
   * completed within the last 24 hours. Rejects with StorageError.
   */
  findCompleted(caller: Caller, storagePath: string): Promise<CompletedFile | undefined>;
  /** Forgets the upload whose object is deleted, so that it counts against no quota. */
  forget(tx: Tx, storageKey: string): Promise<void>;
}

const usableMs = 24 * 3_600_000;

interface UploadsOptions {
  readonly db: Database;
  readonly hashes: FileHashes;
  readonly clock: Clock;
}

export function createUploads({ db, hashes, clock }: UploadsOptions): Uploads {
  return {
    async findCompleted(caller, storagePath) {
      const session = await db.asUser(caller, (tx) =>
        tx
          .selectFrom('upload_sessions')
          .select(['id', 'storage_key', 'object_version', 'file_size', 'file_hash'])
          .where('storage_key', '=', storagePath)
          .where('status', '=', 'COMPLETED')
          .where('completed_at', '>', new Date(clock().getTime() - usableMs))
          .executeTakeFirst(),
      );
      if (session === undefined || session.object_version === null) return undefined;
      const file = { id: session.id, key: session.storage_key, version: session.object_version };
      return {
        sessionId: session.id,
        storageKey: file.key,
        objectVersion: file.version,
        fileSize: session.file_size,
        fileHash: session.file_hash ?? (await hashes.wait(caller, file)),
      };
    },
    async forget(tx, storageKey) {
      await tx.deleteFrom('upload_sessions').where('storage_key', '=', storageKey).execute();
    },
  };
}
