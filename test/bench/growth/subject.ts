import { randomUUID } from 'node:crypto';
import { counters } from '../../../app/db/usage/quota.ts';
import { ask, removalsLast, renew, type TestedRoute } from '../../http/roles/ask.ts';
import { expectations, type Expectation } from '../../http/roles/expectations.ts';
import { createCallers, createOwner, type Owner } from '../../http/roles/scene.ts';
import { walkAsStranger } from '../../http/plans/walks.ts';
import { proofHeader } from '../../support/accounts/reauth-account.ts';
import { startPurgeVault } from '../../support/accounts/purge-vault.ts';
import { connectAs } from '../../support/accounts/two-tenants.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import type { TestStack } from '../../support/vault/stack.ts';
import { fillVault, type Size } from './fill.ts';

/** Told of each request: who sent it to which route, its milliseconds and the response's status. */
export type Note = (name: string, ms: number, status: number) => void;

/** A vault that is measured. */
export interface Subject extends AsyncDisposable {
  readonly database: string;
  readonly adminUrl: string;
  /**
   * Sends a request to each route: as the user who has most of the vault, as an administrator, and
   * as a new user, who also registers and logs in.
   */
  askAll(note: Note): Promise<void>;
}

/** Routes after which a caller can send nothing more. */
const ending = new Set(['POST /v1/auth/logout', 'DELETE /v1/auth/account']);
const byEnd = (route: TestedRoute) => Number(ending.has(route.name));

/** The routes that users may call, removals last, without the streams, which do not end. */
const asked = removalsLast
  .filter(({ name, path }) => expectations[name]?.kind !== 'refused' && !path.endsWith('/events'))
  .toSorted((a, b) => byEnd(a) - byEnd(b));
/** Those that leave what they are asked about, so that they can be asked again and again. */
const repeated = asked.filter(({ name, verb }) => verb !== 'DELETE' && !ending.has(name));

const withoutQuotas = Object.fromEntries(
  counters.map((counter) => [
    `PLANS_STANDARD_${counter.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`,
    String(2 ** 50),
  ]),
);

/** Starts a vault and fills it; most of it is of one user. */
export async function startSubject(stack: TestStack, size: Size): Promise<Subject> {
  const context = await startPurgeVault({ ...withoutQuotas, LOG_LEVEL: 'error' }, stack);
  const { vault, sql } = context;
  const adminUrl = vault.databases.admin;
  const userId = randomUUID();
  await fillVault(vault.databases, userId, size);
  let large = await createOwner(vault, 'default', userId);
  const callers = await createCallers(vault);
  let admin = callers.find(({ role }) => role === 'platform_admin')?.api ?? large.api;

  async function askOne(note: Note, route: TestedRoute, api: Api, owner: Owner, who: string) {
    const expectation = expectations[route.name] as Expectation;
    const present = await renew(sql, expectation, owner);
    const proof = await proofHeader(vault, api.caller);
    const startedAt = performance.now();
    const { status } = await ask(vault, api, route, expectation, present, proof);
    note(`${route.name} by ${who}`, performance.now() - startedAt, status);
  }

  return {
    database: new URL(adminUrl).pathname.slice(1),
    adminUrl,
    async askAll(note) {
      // An access token serves for 15 minutes.
      large = { ...large, api: await createApi(vault, large.api.caller) };
      admin = await createApi(vault, admin.caller);
      for (const route of repeated) {
        await askOne(note, route, large.api, large, 'the user with most');
        await askOne(note, route, admin, large, 'an administrator');
      }
      const owner = await createOwner(vault, 'default');
      for (const route of asked) await askOne(note, route, owner.api, owner, 'a new user');
      const startedAt = performance.now();
      await walkAsStranger(context);
      note('registration and login', performance.now() - startedAt, 200);
    },
    [Symbol.asyncDispose]: () => context.stop(),
  };
}

/**
 * Finds the transactions that began over 5 s ago and have written. Readers of queues begin at the
 * first of them, so that they cost more while it lasts.
 */
export async function findOldWriters(adminUrl: string): Promise<string[]> {
  const client = await connectAs(adminUrl);
  const { rows } = await client.query<{ readonly writer: string }>(
    `select format('%s %s %s since %s: %s', datname, usename, backend_type, xact_start,
       left(query, 200)) as writer
     from pg_stat_activity
     where backend_xid is not null and xact_start < now() - interval '5 s'`,
  );
  await client.end();
  return rows.map(({ writer }) => writer);
}

/** Holds a snapshot, as a long backup does, until it is disposed of. */
export async function holdSnapshot(adminUrl: string): Promise<AsyncDisposable> {
  const client = await connectAs(adminUrl);
  await client.query('begin isolation level repeatable read');
  await client.query('select from audit_queue');
  return { [Symbol.asyncDispose]: () => client.end() };
}
