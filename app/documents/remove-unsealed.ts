import { sql } from 'kysely';
import type { Owner, Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import type { Uploads } from '../uploads/uploads.ts';

interface RemovedUnsealed {
  readonly documents: number;
  readonly uploads: number;
  /** Whether a batch was full, so that more may be left. */
  readonly isMore: boolean;
}

/**
 * Locks the documents of the owner's next unsealed versions, at most `limit` of them, for
 * `removeUnsealed`. Call it before any lock of a later kind.
 */
export async function lockUnsealed(tx: Tx, owner: Owner, limit: number): Promise<void> {
  takesLock(tx, 'document');
  // Counts the locked rows, since returning them would take memory for each.
  await sql`
    select count(*) from (
      select id from documents where id in (
        select document_id from document_versions
        where ${isUnsealed(owner)} order by document_id limit ${limit}
      ) order by id for update
    ) as locked`.execute(tx);
}

/**
 * Removes at most `limit` unsealed document versions of an owner, the documents that then have no
 * version left, their uploads, and at most `limit` uploads that became no document. `tx` must be a
 * transaction of the service login that called `lockUnsealed`. A concurrent request that creates or
 * seals a version either commits before this function has its locks, and its version is then taken
 * into account, or is refused. Resolves with the numbers of removed documents and uploads.
 */
export async function removeUnsealed(
  tx: Tx,
  uploads: Uploads,
  owner: Owner,
  limit: number,
): Promise<RemovedUnsealed> {
  takesLock(tx, 'object check');
  await sql`
    delete from object_checks c using (
      select document_id, version from document_versions
      where ${isUnsealed(owner)} order by document_id limit ${limit}
    ) as v
    where v.document_id = c.document_id and v.version = c.version`.execute(tx);
  await uploads.holdUnused(tx, owner, limit);
  const { rows } = await sql<{ readonly document_id: string; readonly storage_key: string }>`
    with batch as materialized (
      select document_id, version from document_versions
      where ${isUnsealed(owner)} order by document_id limit ${limit}
    )
    delete from document_versions v using batch
    where v.document_id = batch.document_id and v.version = batch.version
      and v.status <> 'SEALED'
    returning v.document_id, v.storage_key`.execute(tx);
  const documents = await settleDocuments(tx, [...new Set(rows.map(({ document_id: id }) => id))]);
  const discarded = await uploads.discard(tx, owner, {
    keys: rows.map(({ storage_key: key }) => key),
    limit,
  });
  return {
    documents,
    uploads: discarded.count,
    isMore: rows.length >= limit || discarded.isMore,
  };
}

/** Matches the unsealed versions of an owner. */
function isUnsealed({ userId, tenantId }: Owner) {
  return sql<boolean>`document_versions.user_id = ${userId}::uuid
    and document_versions.tenant_id = ${tenantId} and document_versions.status <> 'SEALED'`;
}

/**
 * Removes the documents that have no version left, and makes the newest version of the others the
 * current one. Resolves with the number of removed documents.
 */
async function settleDocuments(tx: Tx, ids: readonly string[]): Promise<number> {
  const removed = await sql`
    delete from documents where id = any(${ids}::uuid[])
      and not exists (select from document_versions where document_id = documents.id)`.execute(tx);
  await sql`
    update documents d set version = v.newest, revision = revision + 1
    from (
      select document_id, max(version) as newest from document_versions
      where document_id = any(${ids}::uuid[]) group by document_id
    ) as v
    where d.id = v.document_id and d.version <> v.newest`.execute(tx);
  return Number(removed.numAffectedRows ?? 0);
}
