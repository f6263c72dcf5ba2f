import { randomUUID } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Client } from 'pg';
import type { DatabaseUrls } from '../../../app/dev/postgres/database.ts';
import { inventEntry } from '../harness/audit-entry.ts';
import { pretendAllSealed } from '../harness/pretended-seals.ts';
import { insertStored } from '../plans/stored.ts';
import { insertObjects, withClient } from '../sync/people.ts';
import { appending } from '../../support/audit/log-rows.ts';

const rowsPerStatement = 50_000;

/** Inserts what each statement adds: it has the number of rows as $1, and its own values. */
type Fill = (client: Client, rows: number) => Promise<unknown>;

const fills: readonly Fill[] = [insertAccounts, insertSessions, insertJobs];

/** How much a vault has. */
export interface Size {
  /** Number of documents, of synchronised objects, of sessions and of jobs. */
  readonly rows: number;
  /** Number of entries of the log. */
  readonly entries: number;
}

/**
 * Fills the database of a vault. All documents and objects and half of the entries are of one user.
 * The app may be running: it finds no work in them.
 */
export async function fillVault(
  databases: DatabaseUrls,
  userId: string,
  { rows, entries }: Size,
): Promise<void> {
  const person = { userId, sessionId: randomUUID(), deviceId: randomUUID() };
  await insertObjects(databases, person, rows);
  await inBatches(rows, (count) => insertStored(databases, userId, count));
  await withClient(databases.admin, async (client) => {
    for (const fill of fills) await inBatches(rows, (count) => fill(client, count));
    await inBatches(entries, (count) => insertSealed(client, count, userId));
    await client.query('vacuum (analyze)');
  });
}

async function inBatches(rows: number, insert: (count: number) => Promise<unknown>) {
  for (let done = 0; done < rows; done += rowsPerStatement) {
    await insert(Math.min(rowsPerStatement, rows - done));
  }
}

/** Inserts an account for each ten rows, with a password and a network that it logged in from. */
function insertAccounts(client: Client, rows: number) {
  return client.query(
    `with account as (
       insert into accounts (id, tenant_id, email, status, plan, roles, scopes, activated_at)
       select id, 'default', id || '@example.org', 'ACTIVE', 'standard', '{user}', '{}', now()
       from (select gen_random_uuid() as id from generate_series(1, $1::int / 10)) made
       returning id
     ), credential as (
       insert into credentials (account_id, salt, verifier, key_generation)
       select id, repeat('0', 64), repeat('0', 768), 1 from account
     )
     insert into known_addresses (account_id, address_hash, last_login_at)
     select id, encode(sha256(id::text::bytea), 'hex'), now() from account`,
    [rows],
  );
}

/** Inserts ten sessions each for users without an account. */
function insertSessions(client: Client, rows: number) {
  return client.query(
    `insert into login_sessions (id, user_id, tenant_id, last_used_at, expires_at,
       refresh_generation, refresh_hash)
     select gen_random_uuid(), id, 'default', now(), now() + interval '30 days', 1,
       sha256(id::text::bytea)
     from (select gen_random_uuid() as id from generate_series(1, $1::int / 10)) made,
       generate_series(1, 10)`,
    [rows],
  );
}

/** Inserts entries that look sealed, ten for each resource. Every second one is the user's. */
async function insertSealed(client: Client, rows: number, userId: string) {
  const [id, otherId, resourceId] = [randomUUID(), randomUUID(), randomUUID()];
  const data = { version: 1, metadataHash: '0'.repeat(64) };
  const resource = { type: 'document', id: resourceId };
  const action = 'document.metadata_changed';
  const text = canonicalize(inventEntry({ id, userId, action, resource, seq: 1, data }));
  await client.query('begin');
  await client.query(
    appending(`
     select id, user_id, 'default', 'document', resource, seq, $5,
       replace(replace($6, $7, id::text), $8, resource)
     from (
       select uuidv7() as id, resource, seq,
         case seq % 2 when 0 then $2::uuid else $3::uuid end as user_id
       from (select gen_random_uuid()::text as resource
           from generate_series(1, $1::int / $4::int)) resources,
         generate_series(1, $4::int) seq
     ) made`),
    [rows, userId, otherId, 10, action, text, id, resourceId],
  );
  await pretendAllSealed(client);
  await client.query('commit');
}

/** Inserts jobs that are over, of users who have one each; a tenth of them failed. */
async function insertJobs(client: Client, rows: number) {
  await client.query('begin');
  await client.query(
    `insert into jobs (id, user_id, tenant_id, type, request_id, submitted_at, available_at)
     select uuidv7(), gen_random_uuid(), 'default', 'NO_OP', gen_random_uuid(), now(), now()
     from generate_series(1, $1)`,
    [rows],
  );
  await client.query(
    `update jobs set state = case when random() < 0.1 then 'FAILED' else 'COMPLETED' end,
       finished_at = now() - random() * interval '20 days', error = 'away', retryable = true
     where finished_at is null`,
  );
  await client.query('commit');
}
