import type { Client } from 'pg';
import { setTimeout as pause } from 'node:timers/promises';
import type { DatabaseRoles } from '../columns/roles.ts';
import { expandStatement } from './concurrent-index.ts';
import { MigrationFailed } from './migration-failed.ts';
import { inTransaction, lockTimeoutMs, patienceMs, untilLocked } from './locks.ts';
import type { MigrationPlan } from './plan.ts';

/** An arbitrary key of the advisory lock that lets only one process migrate at a time. */
const lockKey = 7_364_128_801;

/** Milliseconds between questions whether the process that migrates has ended. */
const turnMs = 200;

interface RunOptions {
  readonly roles: DatabaseRoles;
  /** Milliseconds for which one migration asks for its locks; ten minutes by default. */
  readonly patienceMs?: number;
}

/**
 * Runs the plans that the list of migrations lacks, in their order, and returns their names. Only
 * one process runs them at a time; others wait for it. The logins in `roles` may read the list
 * afterwards. Throws MigrationFailed for the plan that failed; those before it have been kept.
 */
export async function runMigrations(
  client: Client,
  plans: readonly MigrationPlan[],
  { roles, patienceMs: ownPatienceMs = patienceMs }: RunOptions,
): Promise<readonly string[]> {
  await takeTurn(client);
  await prepareList(client, roles);
  const { rows } = await client.query<{ readonly name: string }>('select name from migrations');
  const done = new Set(rows.map(({ name }) => name));
  const pending = plans.filter(({ name }) => !done.has(name));
  for (const plan of pending) {
    const run = plan.isTransactional ? runTransaction : runOutside;
    await run(client, plan, ownPatienceMs).catch((cause: unknown) => {
      throw new MigrationFailed(plan.name, cause);
    });
  }
  return pending.map(({ name }) => name);
}

/**
 * Takes the lock of the session. A statement that waited for it would hold a snapshot, for whose
 * end an index that is built concurrently waits, so it is asked for again and again.
 */
async function takeTurn(client: Client): Promise<void> {
  const text = 'select pg_try_advisory_lock($1) as taken';
  for (;;) {
    const { rows } = await client.query<{ readonly taken: boolean }>(text, [lockKey]);
    if (rows[0]?.taken === true) return;
    await pause(turnMs);
  }
}

/** Creates the list of migrations unless it is there, and lets the logins read it. */
async function prepareList(client: Client, { app, service }: DatabaseRoles): Promise<void> {
  const { rows } = await client.query<{ readonly isPrepared: boolean }>(
    `select to_regclass('public.migrations') is not null and
       coalesce(has_table_privilege($1, to_regclass('public.migrations'), 'select')
         and has_table_privilege($2, to_regclass('public.migrations'), 'select'), false)
       as "isPrepared"`,
    [app, service],
  );
  if (rows[0]?.isPrepared === true) return;
  await client.query(
    `create table if not exists migrations (id serial primary key, name varchar(255) not null,
       executed_at timestamptz not null default current_timestamp);
     grant select on migrations to ${app}, ${service}`,
  );
}

async function runTransaction(
  client: Client,
  { name, statements }: MigrationPlan,
  patience: number,
): Promise<void> {
  await untilLocked(patience, () =>
    inTransaction(client, async () => {
      for (const statement of statements) await client.query(statement);
      await record(client, name);
    }),
  );
}

/** Runs statements outside of a transaction. If it is killed, they run again from the first one. */
async function runOutside(
  client: Client,
  { name, statements }: MigrationPlan,
  patience: number,
): Promise<void> {
  for (const statement of statements) {
    for await (const part of expandStatement(client, statement)) {
      // A statement that runs concurrently waits for transactions, and no request waits for it.
      const timeoutMs = /\bconcurrently\b/i.test(part) ? 0 : lockTimeoutMs;
      await client.query(`set lock_timeout = ${timeoutMs}`);
      await untilLocked(patience, () => client.query(part));
    }
  }
  await record(client, name);
}

async function record(client: Client, name: string): Promise<void> {
  await client.query('insert into migrations (name) values ($1)', [name]);
}
