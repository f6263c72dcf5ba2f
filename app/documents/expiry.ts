import { sql } from 'kysely';
import type { AuditTrail } from '../audit-trail/audit-trail.ts';
import type { Clock } from '../async/clock.ts';
import { lengthy, type Database, type Tx } from '../db/database.ts';
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

  /** Resolves with the numbers of versions that one batch found overdue and expired. */
  async function expireBatch(
    tx: Tx,
    before: Date,
  ): Promise<{ readonly found: number; readonly expired: number }> {
    const overdue = await lockOverdue(tx, before);
    const expired = await expireVersions(tx, overdue);
    audit.appendAll(tx, expired.map(expiredEvent));
    return { found: overdue.length, expired: expired.length };
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
      if (dryRun) return { expired: await db.asService((tx) => countOverdue(tx, before), lengthy) };
      let total = 0;
      for (;;) {
        if (isDraining()) throw new AppError('shutting_down');
        audit.assertWritable();
        const { found, expired } = await db.asService((tx) => expireBatch(tx, before), lengthy);
        total += expired;
        if (found === 0) return { expired: total };
      }
    },
  };
}

function expiredEvent(version: ExpiredVersion) {
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
    .where('document_versions.status', '=', sql.lit('PENDING' as const))
    .where('document_versions.created_at', '<', before);
}

async function countOverdue(tx: Tx, before: Date): Promise<number> {
  const { count } = await selectOverdue(tx, before)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

/** A version, without its metadata: a batch of metadata would be 17 MB. */
type ExpiredVersion = Pick<
  VersionRow,
  'document_id' | 'version' | 'user_id' | 'tenant_id' | 'file_hash'
>;

type VersionKey = Pick<VersionRow, 'document_id' | 'version'>;

/**
 * Locks the documents of the next batch of overdue versions, the longest overdue first, and returns
 * the keys of these versions. Skips documents that another transaction has locked.
 */
function lockOverdue(tx: Tx, before: Date): Promise<VersionKey[]> {
  return selectOverdue(tx, before)
    .innerJoin('documents', 'documents.id', 'document_versions.document_id')
    .select(['document_versions.document_id', 'document_versions.version'])
    .orderBy('document_versions.created_at')
    .limit(batchSize)
    .forUpdate('documents')
    .skipLocked()
    .execute();
}

/**
 * Expires the given versions of locked documents that are still pending. Returns the expired
 * versions in the order of their version numbers.
 */
async function expireVersions(tx: Tx, overdue: readonly VersionKey[]): Promise<ExpiredVersion[]> {
  if (overdue.length === 0) return [];
  const expired = await tx
    .updateTable('document_versions')
    .set({ status: 'EXPIRED' })
    .where(({ eb, refTuple, tuple }) =>
      eb(
        refTuple('document_id', 'version'),
        'in',
        overdue.map((one) => tuple(one.document_id, one.version)),
      ),
    )
    .where('status', '=', sql.lit('PENDING'))
    .returning(['document_id', 'version', 'user_id', 'tenant_id', 'file_hash'])
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
