import { sql } from 'kysely';
import type { Owner } from '../../db/database.ts';

/**
 * Returns the SQL condition that the reader owns the document, or that it is shared with them. It
 * repeats the condition of row-level security, so that a mistake in either shows nothing of others.
 */
export function isReadableBy(reader: Owner) {
  return sql<boolean>`(${isOwnedBy(reader)} or exists (select 1 ${sharesWith(reader)}))`;
}

/**
 * Returns the SQL expression of the only version of a document that is shared with the reader; null
 * if the reader may read all versions.
 */
export function onlyVersionFor(reader: Owner) {
  return sql<number | null>`(case when not ${isOwnedBy(reader)} then (
    select case when bool_and(document_shares.version is not null)
      then max(document_shares.version) end ${sharesWith(reader)}) end)`;
}

/** Returns the SQL expression of the version that the reader sees as the current one. */
export function versionShownTo(reader: Owner) {
  return sql<number>`coalesce(${onlyVersionFor(reader)}, documents.version)`;
}

/**
 * Returns the SQL expression of the share by which the reader may read a version, the oldest one;
 * null for the owner.
 */
export function shareShownTo(reader: Owner) {
  return sql<string | null>`(case when not ${isOwnedBy(reader)} then (
    select document_shares.id ${sharesWith(reader)}
      and coalesce(document_shares.version, document_versions.version) = document_versions.version
    order by document_shares.id limit 1) end)`;
}

function isOwnedBy({ userId, tenantId }: Owner) {
  return sql`(documents.user_id = ${userId}::uuid and documents.tenant_id = ${tenantId})`;
}

function sharesWith({ userId, tenantId }: Owner) {
  return sql`from document_shares
    where document_shares.document_id = documents.id
      and document_shares.recipient_user_id = ${userId}::uuid
      and document_shares.tenant_id = ${tenantId}
      and (document_shares.expires_at is null or document_shares.expires_at > now())`;
}
