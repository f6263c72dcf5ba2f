import { sql } from 'kysely';
import type { Owner, Tx } from '../db/database.ts';
import type { Uploads } from '../uploads/uploads.ts';

/**
 * Removes, in the service's transaction, every version of an owner's documents that is not sealed, the
 * documents of which nothing remains, and every upload but those of sealed versions. What is created
 * or sealed at the same time is either seen here or refused there. Answers how many.
 */
export async function removeUnsealed(
  tx: Tx,
  uploads: Uploads,
  owner: Owner,
): Promise<{ documents: number; uploads: number }> {
  const { userId, tenantId } = owner;
  const isOwn = sql<boolean>`user_id = ${userId}::uuid and tenant_id = ${tenantId}`;
  // Documents before uploads, as elsewhere. Then no upload becomes a version any more.
  await tx.selectFrom('documents').select('id').where(isOwn).orderBy('id').forUpdate().execute();
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
  const sealed = await tx
    .selectFrom('document_versions')
    .select('storage_key')
    .where(isOwn)
    .execute();
  // The file of a version is an upload still: its object goes with the others.
  const keptKeys = sealed.map(({ storage_key }) => storage_key);
  return {
    documents: Number(removed.numDeletedRows),
    uploads: await uploads.discardAll(tx, owner, keptKeys),
  };
}
