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
   * meanwhile. Resolves with false if the upload does not exist any more.
   */
  hold(tx: Tx, owner: Owner, storageKey: string): Promise<boolean>;
  /**
   * Removes the row of an upload whose stored object the caller deletes, so that no quota counts
   * the upload any more.
   */
  forget(tx: Tx, owner: Owner, storageKey: string): Promise<void>;
  /**
   * Locks all uploads of an owner for the rest of `tx`, so that no document is created from them
   * meanwhile.
   */
  holdAll(tx: Tx, owner: Owner): Promise<void>;
  /**
   * Removes all uploads of an owner, in any state, with their stored objects, except uploads whose
   * file a document version uses. Resolves with the number of removed uploads.
   */
  discardAll(tx: Tx, owner: Owner): Promise<number>;
}

/** Number of removed uploads whose storage keys are in memory at once. */
const discardedAtOnce = 1000;

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
      const held = await tx
        .selectFrom('upload_sessions')
        .select('id')
        .where('storage_key', '=', storageKey)
        .where('user_id', '=', userId)
        .where('tenant_id', '=', tenantId)
        .forUpdate()
        .executeTakeFirst();
      return held !== undefined;
    },
    async forget(tx, { userId, tenantId }, storageKey) {
      await tx
        .deleteFrom('upload_sessions')
        .where('storage_key', '=', storageKey)
        .where('user_id', '=', userId)
        .where('tenant_id', '=', tenantId)
        .execute();
    },
    async holdAll(tx, { userId, tenantId }) {
      takesLock(tx, 'upload session');
      // Counts the locked rows, since returning them would take memory for each.
      await sql`
        select count(*) from (
          select id from upload_sessions
          where user_id = ${userId}::uuid and tenant_id = ${tenantId} order by id for update
        ) as locked`.execute(tx);
    },
    async discardAll(tx, owner) {
      let total = 0;
      for (;;) {
        const discarded = await removeUnusedOf(tx, owner, discardedAtOnce);
        const objects = discarded.flatMap(({ key, version }) =>
          version === null ? [] : [{ key, version }],
        );
        const unfinished = discarded
          .filter(({ status }) => status === 'IN_PROGRESS')
          .map(({ key, uploadId }) => ({ key, uploadId }));
        await outbox.addAll(tx, 'object.delete', objects);
        await outbox.addAll(tx, 'multipart.abort', unfinished);
        total += discarded.length;
        if (discarded.length < discardedAtOnce) return total;
      }
    },
  };
}
