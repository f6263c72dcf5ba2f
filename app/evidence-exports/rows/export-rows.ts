import { sql, type SelectQueryBuilder } from 'kysely';
import type { Owner, Tx } from '../../db/database.ts';
import type { Schema } from '../../db/schema.ts';
import type { Outbox } from '../../outbox/outbox.ts';

/** An archive in the object store. */
export interface StoredExport {
  readonly jobId: string;
  readonly documentId: string;
  readonly storageKey: string;
  readonly objectVersion: string;
  /** Size in bytes. */
  readonly size: number;
  /** SHA3-256 of the archive, hex. */
  readonly hash: string;
  readonly expiresAt: Date;
}

/** The prefix of the storage keys of all archives. */
export const exportPrefix = 'exports/';

/** Inserts the archive of a document that has none, whose row `tx` has locked. */
export async function insertExport(
  tx: Tx,
  { userId, tenantId }: Owner,
  stored: StoredExport,
): Promise<void> {
  await tx
    .insertInto('evidence_exports')
    .values({
      job_id: stored.jobId,
      user_id: userId,
      tenant_id: tenantId,
      document_id: stored.documentId,
      storage_key: stored.storageKey,
      object_version: stored.objectVersion,
      size: stored.size,
      hash: stored.hash,
      expires_at: stored.expiresAt,
    })
    .execute();
}

/** Returns the archive of a job; undefined if it has none, or if the archive has expired. */
export function findExport(tx: Tx, jobId: string) {
  return tx
    .selectFrom('evidence_exports')
    .select(['user_id', 'tenant_id', 'document_id'])
    .select(['storage_key', 'object_version', 'size', 'hash'])
    .where('job_id', '=', jobId)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst();
}

/** Says which archives to remove: those of a document, a number of an owner's, or of jobs. */
export type ExportChoice =
  | { readonly documentId: string }
  | { readonly owner: Owner; readonly limit: number }
  | { readonly jobIds: readonly string[] };

/** Removes archives; the outbox removes the stored files. Resolves with their number. */
export function removeExports(tx: Tx, outbox: Outbox, choice: ExportChoice): Promise<number> {
  const exports = tx.selectFrom('evidence_exports').select('job_id');
  return remove(tx, outbox, chosenFrom(exports, choice));
}

type ExportIds = SelectQueryBuilder<Schema, 'evidence_exports', { job_id: string }>;

function chosenFrom(exports: ExportIds, choice: ExportChoice): ExportIds {
  if ('documentId' in choice) return exports.where('document_id', '=', choice.documentId);
  if ('jobIds' in choice) {
    return exports.where('job_id', '=', sql<string>`any(${choice.jobIds}::uuid[])`);
  }
  const { userId, tenantId } = choice.owner;
  const own = exports.where('user_id', '=', userId).where('tenant_id', '=', tenantId);
  return own.limit(choice.limit);
}

/** Removes up to `limit` expired archives. Resolves with their number. */
export function removeExpiredExports(tx: Tx, outbox: Outbox, limit: number): Promise<number> {
  const expired = tx
    .selectFrom('evidence_exports')
    .select('job_id')
    .where('expires_at', '<=', sql<Date>`now()`)
    .limit(limit)
    .forUpdate()
    .skipLocked();
  return remove(tx, outbox, expired);
}

async function remove(tx: Tx, outbox: Outbox, ids: ExportIds): Promise<number> {
  const removed = await tx
    .deleteFrom('evidence_exports')
    .where('job_id', 'in', ids)
    .returning(['storage_key as key', 'object_version as version'])
    .execute();
  if (removed.length > 0) await outbox.addAll(tx, 'object.delete', removed);
  return removed.length;
}

/** Counts the expired archives. */
export async function countExpiredExports(tx: Tx): Promise<number> {
  const { count } = await tx
    .selectFrom('evidence_exports')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('expires_at', '<=', sql<Date>`now()`)
    .executeTakeFirstOrThrow();
  return count;
}
