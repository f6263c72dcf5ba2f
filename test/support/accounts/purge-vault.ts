import { randomBytes, randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { until } from '../../../app/dev/processes/until.ts';
import { createKeyFile, type KeyFile } from '../vault/key-file.ts';
import { send, type JsonAnswer } from '../http/send.ts';
import { createSql, type Sql } from '../vault/sql.ts';
import { testStack, type TestStack } from '../vault/stack.ts';
import { startReadyVault, type TestVault, type Vault } from '../vault/vault.ts';
import { validationMails } from './mails.ts';
import { inventAccount, register, type TestAccount } from './test-account.ts';
import { pretendSealed } from '../audit/unsealed.ts';

/** A vault with an internal API key, and the operations of a CronJob on it. */
export interface PurgeVault {
  readonly vault: TestVault;
  readonly sql: Sql;
  readonly keys: KeyFile;
  purge(query?: string): Promise<JsonAnswer>;
  status(): Promise<JsonAnswer>;
  /** Empties every table. */
  reset(): Promise<void>;
  stop(): Promise<void>;
}

/** The counts that both responses of a purge have. */
export interface PurgeCounts {
  readonly purgedAccounts: number;
  readonly removedAuditTraces: number;
  readonly removedEmails: number;
}

export async function startPurgeVault(
  settings: NodeJS.ProcessEnv = {},
  stack: TestStack = testStack(),
): Promise<PurgeVault> {
  const keys = await createKeyFile();
  const vault = await startReadyVault({ INTERNAL_API_KEYS_FILE: keys.path, ...settings }, stack);
  const headers = { 'X-Internal-Api-Key': keys.admin };
  const sql = createSql(vault);
  return {
    vault,
    sql,
    keys,
    purge: (query = '') =>
      send('POST', `${vault.baseUrl}/v1/auth/purge/expired${query}`, { headers }),
    status: () => send('GET', `${vault.baseUrl}/v1/auth/purge/status`, { headers }),
    async reset() {
      // A sealer may lock the queue and the log in another order: Postgres ends the deadlock.
      const truncated = () =>
        sql(
          `truncate accounts, registrations, known_addresses, outbox, login_sessions,
           maintenance_runs,
           audit_log, audit_seals, audit_queue, audit_trails, audit_tallies cascade`,
        ).catch((error: unknown) => {
          if ((error as { code?: string }).code !== '40P01') throw error;
        });
      await until(truncated, { what: 'the tables to be empty', timeoutMs: 30_000 });
    },
    async stop() {
      await vault.stop();
      await keys.remove();
    },
  };
}

export function countsOf({ body }: JsonAnswer): PurgeCounts {
  const { purgedAccounts, removedAuditTraces, removedEmails } = body as PurgeCounts;
  return { purgedAccounts, removedAuditTraces, removedEmails };
}

/**
 * A user who has registered and not validated. All outbox messages and signatures of the
 * registration are done.
 */
export interface PendingAccount {
  readonly account: TestAccount;
  readonly userId: string;
  readonly token: string;
}

export async function registerOnly({
  vault,
  sql,
}: {
  readonly vault: Pick<Vault, 'baseUrl' | 'mailDirectory'>;
  readonly sql: Sql;
}): Promise<PendingAccount> {
  const account = inventAccount();
  await register(vault, account);
  const [mail] = await validationMails(vault, account.email, 1);
  const userId = await findUserId(sql, account.email);
  await untilDelivered(sql, account.email);
  await untilSealed(sql);
  return { account, userId, token: mail?.token ?? '' };
}

export async function findUserId(sql: Sql, email: string): Promise<string> {
  const [row] = await sql('select id from accounts where email = $1', [email]);
  return String(row?.['id']);
}

/**
 * Waits until the outbox has no message about the e-mail address: a delivered message stays a
 * moment longer.
 */
function untilDelivered(sql: Sql, email: string): Promise<boolean> {
  const promised =
    "select 1 from outbox where $1 in (payload::json ->> 'email', payload::json ->> 'to')";
  return until(async () => (await sql(promised, [email])).length === 0, {
    what: 'every message about the e-mail address to be done',
    timeoutMs: 60_000,
  });
}

/** Waits until no entry is pending. */
export function untilSealed(sql: Sql): Promise<boolean> {
  const unsealed = "select 1 from audit_entries where state = 'PENDING'";
  return until(async () => (await sql(`${unsealed} limit 1`)).length === 0, {
    what: 'every entry to be sealed',
    timeoutMs: 60_000,
  });
}

/** Makes the registration tokens of an account expire a second ago. */
export async function expire({ sql }: Pick<PurgeVault, 'sql'>, userId: string): Promise<void> {
  await sql(
    "update registrations set expires_at = now() - interval '1 second' where account_id = $1",
    [userId],
  );
}

/** Returns a function that runs statements on an open connection. */
export function sqlOn(client: Client): Sql {
  return async (text, values = []) =>
    (await client.query<Record<string, unknown>>(text, [...values])).rows;
}

/**
 * Inserts expired accounts, oldest first, as the app leaves them: with a registration, an entry
 * that looks sealed, and an unsent e-mail.
 */
export async function insertExpired(sql: Sql, count: number): Promise<void> {
  const entries = await sql(
    `with account as (
      insert into accounts (id, tenant_id, email, status, plan, roles, scopes, created_at)
      select gen_random_uuid(), 'default', $2 || n || '@example.org', 'PENDING_VALIDATION',
        'standard', '{user}', '{}', now() - interval '1 day' + n * interval '1 millisecond'
      from generate_series(1, $1::int) n returning id, email
    ), registration as (
      insert into registrations
        (id, account_id, key_generation, salt, verifier, token_hash, expires_at)
      select gen_random_uuid(), id, 1, 'aa', 'bb', id::text, now() - interval '23 hours'
      from account
    ), trail as (
      insert into audit_trails (user_id, resource_type, resource_id, tenant_id, last_seq)
      select id, 'account', id::text, 'default', 1 from account
      returning id, user_id, last_seq
    ), mail as (
      insert into outbox (id, kind, payload, user_id, available_at)
      select gen_random_uuid(), 'email', '{}', id, now() + interval '1 day' from account
    )
    insert into audit_log (id, user_id, tenant_id, trail_id, seq, action, canonical)
    select uuidv7(), user_id, 'default', id, last_seq, 'account.registered',
      json_build_object('text', user_id, 'salt', $3::text)::text
    from trail
    returning id`,
    [count, randomUUID(), randomBytes(32).toString('base64')],
  );
  await pretendSealed(
    sql,
    entries.map(({ id }) => id),
  );
}

/** Returns every row of every table as text, by table. */
export async function dump(sql: Sql): Promise<Map<string, string>> {
  const tables = await sql(
    `select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
    order by 1`,
  );
  const texts = new Map<string, string>();
  for (const { name } of tables) {
    const [row] = await sql(
      `select coalesce(string_agg(x::text, E'\\n' order by x::text), '') as text
      from ${String(name)} x`,
    );
    texts.set(String(name), String(row?.['text']));
  }
  return texts;
}
