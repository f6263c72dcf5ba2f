import { sql } from 'kysely';
import type { Owner, Tx } from '../../db/database.ts';
import { pageBytes, type Page } from '../../http/responses/page.ts';
import type { VersionRow } from '../records/document-rows.ts';

const listedColumns = [
  'document_id',
  'version',
  'encrypted_metadata',
  'file_hash',
  'status',
  'created_at',
] as const;

/** A version as a list shows it. */
export type ListedVersion = Pick<VersionRow, (typeof listedColumns)[number]>;

interface ListedDocument extends Owner {
  readonly id: string;
  readonly onlyVersion: number | null;
}

interface VersionsPage {
  readonly limit: number;
  /** The number of the last version on the previous page. */
  readonly cursor: number | undefined;
}

/**
 * Loads a page of the versions of an owner's document, newest first: up to 1 MiB of metadata, but
 * at least one version. With `onlyVersion`, loads no other.
 */
export async function loadVersions(
  tx: Tx,
  { id, userId, tenantId, onlyVersion }: ListedDocument,
  { limit, cursor }: VersionsPage,
): Promise<Page<ListedVersion, number>> {
  let newest = tx
    .selectFrom('document_versions')
    .select(listedColumns)
    .where('document_id', '=', id)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .orderBy('version', 'desc')
    .limit(limit + 1);
  if (onlyVersion !== null) newest = newest.where('version', '=', onlyVersion);
  if (cursor !== undefined) newest = newest.where('version', '<', cursor);
  const sized = tx
    .selectFrom(newest.as('newest'))
    .select(listedColumns)
    .select([
      sql<number>`row_number() over (order by version desc)`.as('position'),
      sql<string>`count(*) over ()`.as('found'),
      sql<number>`sum(octet_length(encrypted_metadata)) over (order by version desc)`.as('bytes'),
    ]);
  const rows = await tx
    .selectFrom(sized.as('sized'))
    .select(listedColumns)
    .select('found')
    .where((row) => row.or([row('bytes', '<=', pageBytes), row('position', '=', 1)]))
    .orderBy('version', 'desc')
    .execute();
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const goesOn = last !== undefined && page.length < Number(last.found);
  return { rows: page, cursor: goesOn ? last.version : undefined };
}
