import type { ExecutionContext } from 'ava';
import type { Owner } from '../../../app/db/database.ts';
import { nextCursor } from '../../../client/http/pages.ts';
import type { Answer, Api } from '../../support/documents/uploads.ts';
import type { Sql } from '../../support/vault/sql.ts';
import { insertDocuments } from '../../support/documents/rows.ts';

export interface Search {
  readonly all?: readonly string[];
  readonly any?: readonly string[];
}

export function keyword(n: number): string {
  return n.toString(16).padStart(64, '0');
}

/**
 * Inserts documents without files, one per list of keywords. Resolves with the ids in the order of
 * the lists.
 */
export async function insertNamed(
  sql: Sql,
  owner: Owner,
  lists: readonly (readonly string[])[],
): Promise<string[]> {
  const ids = (await insertDocuments(sql, owner, lists.length)).toReversed();
  const named = lists.flatMap((hashes, i) => hashes.map((hash) => ({ id: ids[i], hash })));
  await sql(
    `insert into document_keywords (user_id, tenant_id, keyword_hash, place, document_id)
     select $1, $2, hash, id, id from unnest($3::uuid[], $4::text[]) as named (id, hash)`,
    [owner.userId, owner.tenantId, named.map(({ id }) => id), named.map(({ hash }) => hash)],
  );
  return ids;
}

export const search = (api: Api, json: unknown, query = ''): Promise<Answer> =>
  api.send('POST', `/v1/documents/search${query}`, { json });

export async function searchIds(
  t: ExecutionContext,
  api: Api,
  wanted: Search,
  query = '',
): Promise<string[]> {
  const { status, body } = await search(api, wanted, query);
  t.is(status, 200, JSON.stringify(body));
  return (body as unknown as { readonly id: string }[]).map(({ id }) => id);
}

/** Reads all pages of ids by following the links; runs `between` after each page. */
export async function searchPages(
  api: Api,
  wanted: Search,
  limit: number,
  between: () => Promise<unknown> = () => Promise.resolve(),
): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    const query = `?limit=${limit}${cursor === undefined ? '' : `&cursor=${cursor}`}`;
    const { headers, body } = await search(api, wanted, query);
    pages.push((body as unknown as { readonly id: string }[]).map(({ id }) => id));
    cursor = nextCursor(headers.get('link'));
    await between();
  } while (cursor !== undefined);
  return pages;
}
