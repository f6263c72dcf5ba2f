import { sql } from 'kysely';
import type { Owner, Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import type { Uploads } from '../uploads/uploads.ts';

/**
 * Removes an owner's unsealed document versions, the documents that then have no version left, and
 * all uploads except the files of sealed versions. `tx` must be a transaction of the service login.
 * A concurrent request that creates or seals a version either commits before this function has its
 * locks, and its version is then taken into account, or is refused. Resolves with the numbers of
 * removed documents and uploads.
 */
export async function removeUnsealed(
  tx: Tx,
  uploads: Uploads,
  owner: Owner,
): Promise<{ readonly documents: number; readonly uploads: number }> {
  const { userId, tenantId } = owner;
  const isOwn = sql<boolean>`user_id = ${userId}::uuid and tenant_id = ${tenantId}`;
  takesLock(tx, 'document');
  // No upload can become a version while these locks are held. Counts the locked rows, since
  // returning them would take memory for each.
  await sql`
    select count(*) from (
      select id from documents where ${isOwn} order by id for update
    ) as locked`.execute(tx);
  takesLock(tx, 'object check');
  await sql`
    delete from object_checks c using document_versions v
    where c.user_id = ${userId}::uuid and c.tenant_id = ${tenantId}
      and v.document_id = c.document_id and v.version = c.version
      and v.status <> 'SEALED'`.execute(tx);
  await uploads.holdAll(tx, owner);
  await tx.deleteFrom('document_versions').where(isOwn).where('status', '<>', 'SEALED').execute();
  const removed = await tx
    .deleteFrom('documents')
    .where(isOwn)
    .where('id', 'not in', (query) =>
      query.selectFrom('document_versions').select('document_id').where(isOwn),
    )
    .executeTakeFirst();
  await sql`
    update documents d set version = v.newest, revision = revision + 1
    from (
      select document_id, max(version) as newest from document_versions
      where user_id = ${userId}::uuid and tenant_id = ${tenantId} group by document_id
    ) as v
    where d.id = v.document_id and d.version <> v.newest`.execute(tx);
  // The file of a removed version still has an upload session; `discardAll` deletes the stored
  // object together with that session.
  return {
    documents: Number(removed.numDeletedRows),
    uploads: await uploads.discardAll(tx, owner),
  };
}
