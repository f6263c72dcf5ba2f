import { createHash } from 'node:crypto';
import type { Client } from 'pg';
import type { MonthTables } from './month-tables.ts';

/** The identity of a month's rows. */
export interface RowsNote {
  readonly entries: number;
  readonly seals: number;
  /** SHA-256 over the SHA-256 of each entry and then of each seal, in the order of their ids. */
  readonly digest: Buffer;
}

interface Page {
  readonly count: number;
  readonly hashes: Buffer | null;
  readonly last: string | null;
}

const pageSize = 10_000;

/** The rows as text, which depends on no setting of the session: times are UTC, bytes are hex. */
const columns = {
  log: `l.id::text, l.user_id::text, l.tenant_id, l.trail_id::text, l.seq::text, l.action,
    l.canonical, extract(epoch from l.created_at)::text, extract(epoch from l.erased_at)::text`,
  seals: `l.entry_id::text, encode(l.hash, 'hex'), encode(l.signature, 'base64'),
    encode(l.key_id, 'hex'), extract(epoch from l.sealed_at)::text, l.late::int::text`,
} as const;

/** Reads both tables of a month, 10,000 rows at a time, and notes what their rows are. */
export async function noteRows(client: Client, tables: MonthTables): Promise<RowsNote> {
  const hash = createHash('sha256');
  const entries = await addRows(client, hash, { table: tables.log, key: 'id', kind: 'log' });
  hash.update('seals');
  const seals = await addRows(client, hash, {
    table: tables.seals,
    key: 'entry_id',
    kind: 'seals',
  });
  return { entries, seals, digest: hash.digest() };
}

/** The table whose rows are read, and the column of their ids. */
interface Source {
  readonly table: string;
  readonly key: 'id' | 'entry_id';
  readonly kind: keyof typeof columns;
}

/** Adds the hashes of all rows of a table, and returns their number. */
async function addRows(
  client: Client,
  hash: ReturnType<typeof createHash>,
  source: Source,
): Promise<number> {
  let sum = 0;
  let page = await readPage(client, source, null);
  while (page.last !== null) {
    if (page.hashes !== null) hash.update(page.hashes);
    sum += page.count;
    page = await readPage(client, source, page.last);
  }
  return sum;
}

const empty: Page = { count: 0, hashes: null, last: null };

async function readPage(
  client: Client,
  { table, key, kind }: Source,
  after: string | null,
): Promise<Page> {
  const { rows } = await client.query<Page>(
    `select count(*)::int as count, (array_agg(id order by id desc))[1] as last,
       string_agg(sha256(convert_to(text, 'UTF8')), ''::bytea order by id) as hashes
     from (
       select l.${key} as id, json_build_array(${columns[kind]})::text as text
       from ${table} l where $1::uuid is null or l.${key} > $1 order by l.${key} limit ${pageSize}
     ) as page`,
    [after],
  );
  return rows[0] ?? empty;
}

/** Returns whether two notes are of the same rows. */
export function isSameNote(one: RowsNote, other: RowsNote): boolean {
  return (
    one.entries === other.entries && one.seals === other.seals && one.digest.equals(other.digest)
  );
}
