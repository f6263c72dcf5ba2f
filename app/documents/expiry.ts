import { sql } from 'kysely';
import type { AuditTrail } from '../audit-trail/audit-trail.ts';
import type { Clock } from '../async/clock.ts';
import type { Database, Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import { ownerOf, type VersionRow } from './records/document-rows.ts';

const dayMs = 86_400_000;
const batchSize = 200;

interface ExpiryOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly clock: Clock;
  /** Days for which a version may wait to be sealed. */
  readonly pendingDays: number;
  readonly isDraining: () => boolean;
}

export type DocumentExpiry = ReturnType<typeof createDocumentExpiry>;

/** Creates the service that expires document versions that were not sealed within `pendingDays`. */
export function createDocumentExpiry(options: ExpiryOptions) {
  const { db, audit, clock, pendingDays, isDraining } = options;

  /**
   * Expires the overdue versions of one batch of documents. Resolves with the number of documents
   * found and the number of versions expired.
   */
  async function expireBatch(
    tx: Tx,
    before: Date,
  ): Promise<{ readonly found: number; readonly expired: number }> {
    const ids = await lockOverdue(tx, before);
    const expired = await expireVersions(tx, ids, before);
    await audit.appendAll(tx, expired.map(expiredEvent));
    return { found: ids.length, expired: expired.length };
  }

  return {
    /**
     * Expires every version that was not sealed within `pendingDays`. Each batch is one
     * transaction. Skips documents that another transaction has locked to seal, change or expire
     * them; a later run checks these documents again. Resolves with the number of versions that
     * expired or, in a dry run, would expire. Throws shutting_down between batches, and
     * audit_backlog_full.
     */
    async expire({ dryRun }: { readonly dryRun: boolean }): Promise<{ readonly expired: number }> {
      const before = new Date(clock().getTime() - pendingDays * dayMs);
      if (dryRun) return { expired: await db.asService((tx) => countOverdue(tx, before)) };
      let total = 0;
      for (;;) {
        if (isDraining()) throw new AppError('shutting_down');
        audit.assertWritable();
        const { found, expired } = await db.asService((tx) => expireBatch(tx, before));
        total += expired;
        if (found === 0) return { expired: total };
      }
    },
  };
}

function expiredEvent(version: VersionRow) {
  return {
    action: 'document.expired',
    actor: { type: 'system', id: null },
    owner: ownerOf(version),
    resource: { type: 'document', id: version.document_id },
    requestId: null,
    data: { version: version.version, fileHash: version.file_hash },
  } as const;
}

function selectOverdue(tx: Tx, before: Date) {
  return tx
    .selectFrom('document_versions')
    .where('document_versions.status', '=', 'PENDING')
    .where('document_versions.created_at', '<', before);
}

async function countOverdue(tx: Tx, before: Date): Promise<number> {
  const { count } = await selectOverdue(tx, before)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

/**
 * Locks the documents of the next batch of overdue versions, the longest overdue first, and returns
 * the ids of the documents. Skips documents that another transaction has locked.
 */
async function lockOverdue(tx: Tx, before: Date): Promise<string[]> {
  const rows = await selectOverdue(tx, before)
    .innerJoin('documents', 'documents.id', 'document_versions.document_id')
    .select('documents.id')
    .orderBy('document_versions.created_at')
    .limit(batchSize)
    .forUpdate('documents')
    .skipLocked()
    .execute();
  return [...new Set(rows.map(({ id }) => id))];
}

/**
 * Expires the versions of the locked documents `ids` that are still overdue. Returns the expired
 * versions in the order of their version numbers.
 */
async function expireVersions(tx: Tx, ids: readonly string[], before: Date): Promise<VersionRow[]> {
  if (ids.length === 0) return [];
  const expired = await tx
    .updateTable('document_versions')
    .set({ status: 'EXPIRED' })
    .where('document_id', 'in', ids)
    .where('status', '=', 'PENDING')
    .where('created_at', '<', before)
    .returningAll()
    .execute();
  const changed = [...new Set(expired.map(({ document_id }) => document_id))];
  if (changed.length > 0) {
    await tx
      .updateTable('documents')
      .set({ revision: sql`revision + 1` })
      .where('id', 'in', changed)
      .execute();
  }
  return expired.toSorted((a, b) => a.version - b.version);
}
