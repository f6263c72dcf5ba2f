import { sql } from 'kysely';
import type { Clock } from '../async/clock.ts';
import type { Database, Owner, Tx } from '../db/database.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { StorageError } from '../storage/interface/storage-error.ts';
import type { FileHashes, StoredFile } from './completion/file-hashes.ts';
import { usableMs } from './sessions/limits.ts';

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
   * completed within the last 24 hours and its bytes are still there. Rejects with StorageError.
   */
  findCompleted(caller: Caller, storagePath: string): Promise<CompletedFile | undefined>;
  /**
   * Whether a completed upload is still there; if so it stays until the transaction ends, and others
   * who ask for it wait.
   */
  hold(tx: Tx, storageKey: string): Promise<boolean>;
  /** Forgets the upload whose object is deleted, so that it counts against no quota. */
  forget(tx: Tx, storageKey: string): Promise<void>;
  /** Holds every upload of an owner: until the transaction ends, none becomes a document. */
  holdAll(tx: Tx, owner: Owner): Promise<void>;
  /**
   * Removes every upload of an owner, in whatever state, with what is stored of it, but for those
   * at `keptKeys`. Answers how many.
   */
  discardAll(tx: Tx, owner: Owner, keptKeys: readonly string[]): Promise<number>;
}

interface UploadsOptions {
  readonly db: Database;
  readonly outbox: Outbox;
  readonly hashes: FileHashes;
  readonly clock: Clock;
}

export function createUploads({ db, outbox, hashes, clock }: UploadsOptions): Uploads {
  /** Undefined if other bytes, or none, are where the upload was. */
  async function findHash(caller: Caller, file: StoredFile): Promise<string | undefined> {
    try {
      return await hashes.wait(caller, file);
    } catch (error) {
      const isGone =
        error instanceof StorageError &&
        (error.code === 'object_not_found' || error.code === 'version_changed');
      if (isGone) return undefined;
      throw error;
    }
  }

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
      const file = {
        id: session.id,
        key: session.storage_key,
        version: session.object_version,
        size: session.file_size,
      };
      const fileHash = session.file_hash ?? (await findHash(caller, file));
      if (fileHash === undefined) return undefined;
      return {
        sessionId: file.id,
        storageKey: file.key,
        objectVersion: file.version,
        fileSize: file.size,
        fileHash,
      };
    },
    async hold(tx, storageKey) {
      const held = await tx
        .selectFrom('upload_sessions')
        .select('id')
        .where('storage_key', '=', storageKey)
        .forUpdate()
        .executeTakeFirst();
      return held !== undefined;
    },
    async forget(tx, storageKey) {
      await tx.deleteFrom('upload_sessions').where('storage_key', '=', storageKey).execute();
    },
    async holdAll(tx, { userId, tenantId }) {
      await tx
        .selectFrom('upload_sessions')
        .select('id')
        .where('user_id', '=', userId)
        .where('tenant_id', '=', tenantId)
        .orderBy('id')
        .forUpdate()
        .execute();
    },
    async discardAll(tx, { userId, tenantId }, keptKeys) {
      const discarded = await tx
        .deleteFrom('upload_sessions')
        .where('user_id', '=', userId)
        .where('tenant_id', '=', tenantId)
        .where(sql<boolean>`storage_key <> all(${keptKeys}::text[])`)
        .returning(['status', 'storage_key as key', 'object_version', 'storage_upload_id'])
        .execute();
      const objects = discarded.flatMap(({ key, object_version: version }) =>
        version === null ? [] : [{ key, version }],
      );
      const unfinished = discarded
        .filter(({ status }) => status === 'IN_PROGRESS')
        .map(({ key, storage_upload_id: uploadId }) => ({ key, uploadId }));
      await outbox.addAll(tx, 'object.delete', objects);
      await outbox.addAll(tx, 'multipart.abort', unfinished);
      return discarded.length;
    },
  };
}
