import { createHash } from 'node:crypto';
import { Client } from 'pg';
import type { DatabaseUrls } from '../../../app/dev/postgres/database.ts';

/**
 * Number of keyword bands. Each band is three times as wide as the one before, and a document has
 * one keyword of each: some keywords of a user are on half of the documents, most on very few.
 */
const bands = 5;
/** Number of concurrent statements, each inserting different documents. */
const lanes = 2;

const insertLane = `
  with made as (
    insert into documents (id, user_id, tenant_id, place)
    select gen_random_uuid(), ($1::uuid[])[1 + i % cardinality($1)], 'default', uuidv7()
    from generate_series($2::int, $3::int, ${lanes}) as i
    returning id, user_id, place
  ), versions as (
    insert into document_versions (document_id, version, user_id, tenant_id, storage_key,
      object_version, file_size, file_hash, encrypted_metadata)
    select id, 1, user_id, 'default', id || '/evidence', 'v', 1,
      encode(sha256(id::text::bytea), 'hex'),
      encode(sha512(id::text::bytea) || sha512(user_id::text::bytea) || sha512('metadata'),
        'base64')
    from made
  )
  insert into document_keywords (user_id, tenant_id, keyword_hash, place, document_id)
  select user_id, 'default', encode(sha256((user_id || ' ' || rank)::bytea), 'hex'), place, id
  from (
    select user_id, place, id, floor(power(3, band) * (1 + 2 * random()))::int as rank
    from made cross join generate_series(0, ${bands - 1}) as band
  ) as named`;

/**
 * Inserts documents for the users in turn, each with its version and keywords, through the
 * service's database login.
 */
export async function insertEvidence(
  { owner, service }: DatabaseUrls,
  users: readonly string[],
  documents: number,
): Promise<void> {
  const inserted = Array.from({ length: lanes }, (_, lane) =>
    query(service, insertLane, [users, lane + 1, documents]),
  );
  await Promise.all(inserted);
  // Autovacuum would do this in time.
  await query(owner, 'vacuum (analyze) documents, document_versions, document_keywords');
}

/** Picks one document of every user, keyed by the user's id. */
export async function pickDocuments({ service }: DatabaseUrls): Promise<Map<string, string>> {
  const rows = await query(
    service,
    'select distinct on (user_id) user_id, id from documents order by user_id, random()',
  );
  return new Map(rows.map(({ user_id, id }) => [String(user_id), String(id)]));
}

/** Returns the hash of a keyword that a random document of the user could have. */
export function randomKeyword(userId: string): string {
  const band = Math.floor(Math.random() * bands);
  const rank = Math.floor(3 ** band * (1 + 2 * Math.random()));
  return createHash('sha256').update(`${userId} ${rank}`).digest('hex');
}

async function query(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text, [...values])).rows;
  } finally {
    await client.end();
  }
}
