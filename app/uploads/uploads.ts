import { sql } from 'kysely';
import type { Clock } from '../async/clock.ts';
import type { Database, Owner, Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { StorageError } from '../storage/interface/storage-error.ts';
import { removeUnusedOf } from './cleanup/unused-uploads.ts';
import type { FileHashes, StoredFile } from './completion/file-hashes.ts';
import { usableMs } from './sessions/limits.ts';

/** A completed upload that can become the file of a document. */
export interface CompletedFile {
  readonly sessionId: string;
  readonly storageKey: string;
  readonly objectVersion: string;
  readonly fileSize: number;
  /** Hex SHA3-256 of the stored bytes, computed by the server. */
  readonly fileHash: string;
}

/** The operations on uploads for other features. */
export interface Uploads {
  /**
   * Resolves with the caller's completed upload at a storage path, after the hash of its file is
   * known. Resolves with undefined if no upload at the path was completed within the last 24 hours,
   * or if its bytes are gone or were replaced. Rejects with StorageError.
   */
  findCompleted(caller: Caller, storagePath: string): Promise<CompletedFile | undefined>;
  /**
   * Locks the row of an upload of the owner for the rest of `tx`, so that the upload is not removed
   * meanwhile.
   */
  hold(tx: Tx, owner: Owner, storageKey: string): Promise<void>;
  /**
   * Locks an upload as `hold` does and keeps it from being removed as unused later, since `tx`
   * makes a document version of it. Resolves with false if the upload does not exist any more.
   */
  use(tx: Tx, owner: Owner, storageKey: string): Promise<boolean>;
  /**
   * Removes the row of an upload whose stored object the caller deletes, so that no quota counts
   * the upload any more.
   */
  forget(tx: Tx, owner: Owner, storageKey: string): Promise<void>;
  /**
   * Locks at most `limit` uploads of an owner that no document version uses for the rest of `tx`,
   * so that no document is created from them meanwhile.
   */
  holdUnused(tx: Tx, owner: Owner, limit: number): Promise<void>;
  /**
   * Removes at most `limit` uploads of an owner, in any state, with their stored objects, except
   * uploads whose file a document version uses. `keys` are the storage keys of files that `tx` took
   * from their versions.
   */
  discard(tx: Tx, owner: Owner, choice: DiscardChoice): Promise<Discarded>;
}

export interface DiscardChoice {
  readonly keys: readonly string[];
  readonly limit: number;
}

interface Discarded {
  /** The number of removed uploads. */
  readonly count: number;
  /** Whether more unused uploads may be left. */
  readonly isMore: boolean;
}

interface UploadsOptions {
  readonly db: Database;
  readonly outbox: Outbox;
  readonly hashes: FileHashes;
  readonly clock: Clock;
}

export function createUploads({ db, outbox, hashes, clock }: UploadsOptions): Uploads {
  /** Returns the hash of an upload, or undefined if its bytes are gone or were replaced. */
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

  async function findCompleted(
    caller: Caller,
    storagePath: string,
  ): Promise<CompletedFile | undefined> {
    const session = await db.asUser(caller, (tx) =>
      tx
        .selectFrom('upload_sessions')
        .select(['id', 'storage_key', 'object_version', 'file_size', 'file_hash'])
        .where('storage_key', '=', storagePath)
        .where('user_id', '=', caller.userId)
        .where('tenant_id', '=', caller.tenantId)
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
  }

  return {
    findCompleted,
    async hold(tx, { userId, tenantId }, storageKey) {
      takesLock(tx, 'upload session');
      await tx
        .selectFrom('upload_sessions')
        .select('id')
        .where('storage_key', '=', storageKey)
        .where('user_id', '=', userId)
        .where('tenant_id', '=', tenantId)
        .forUpdate()
        .execute();
    },
    async use(tx, { userId, tenantId }, storageKey) {
      takesLock(tx, 'upload session');
      const { numUpdatedRows } = await tx
        .updateTable('upload_sessions')
        .set({ is_used: true })
        .where('storage_key', '=', storageKey)
        .where('user_id', '=', userId)
        .where('tenant_id', '=', tenantId)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    async forget(tx, { userId, tenantId }, storageKey) {
      await tx
        .deleteFrom('upload_sessions')
        .where('storage_key', '=', storageKey)
        .where('user_id', '=', userId)
        .where('tenant_id', '=', tenantId)
        .execute();
    },
    async holdUnused(tx, { userId, tenantId }, limit) {
      takesLock(tx, 'upload session');
      // Counts the locked rows, since returning them would take memory for each.
      await sql`
        select count(*) from (
          select id from upload_sessions
          where user_id = ${userId}::uuid and tenant_id = ${tenantId} and not is_used
          order by id limit ${limit} for update
        ) as locked`.execute(tx);
    },
    async discard(tx, owner, { keys, limit }) {
      await release(tx, owner, keys);
      const { removed, isMore } = await removeUnusedOf(tx, owner, limit);
      const objects = removed.flatMap(({ key, version }) =>
        version === null ? [] : [{ key, version }],
      );
      const unfinished = removed
        .filter(({ status }) => status === 'IN_PROGRESS')
        .map(({ key, uploadId }) => ({ key, uploadId }));
      await outbox.addAll(tx, 'object.delete', objects);
      await outbox.addAll(tx, 'multipart.abort', unfinished);
      return { count: removed.length, isMore };
    },
  };
}

/** Marks the uploads at the given storage keys as used by no document version. */
async function release(
  tx: Tx,
  { userId, tenantId }: Owner,
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return;
  await tx
    .updateTable('upload_sessions')
    .set({ is_used: false })
    .where('storage_key', '=', sql<string>`any(${keys}::text[])`)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .execute();
}
