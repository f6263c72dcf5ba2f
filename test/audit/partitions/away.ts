import { randomUUID } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { v7 as uuidv7 } from 'uuid';
import type { Owner } from '../../../app/db/database.ts';
import { untilSealed } from '../../support/accounts/purge-vault.ts';
import { eventOf, openTrail } from '../../support/audit/entries.ts';
import type { Api } from '../../support/documents/uploads.ts';
import { runCli } from '../../support/processes/run-cli.ts';
import { startMaintenanceVault } from '../../support/vault/maintenance-vault.ts';

/** A vault whose log has entries of the month before the last, and the commands of its owner. */
export type AwayVault = Awaited<ReturnType<typeof startAwayVault>>;

/** Returns the first instant of a month from the present one. */
export function beginOf(months: number): Date {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1));
}

export async function startAwayVault(t: ExecutionContext) {
  const context = await startMaintenanceVault({ MAINTENANCE_VERIFY_DAYS: '1' });
  t.teardown(() => context.stop());
  const { vault, sql } = context;
  const trail = await openTrail(vault);
  t.teardown(() => trail.close());
  const begin = beginOf(-2);
  const month = begin.toISOString().slice(0, 7);
  const suffix = month.replace('-', '_');
  await sql(`select make_audit_month('${month}-01')`);
  await sql(`alter table audit_log_${suffix} owner to probatio_owner`);
  await sql(`alter table audit_seals_${suffix} owner to probatio_owner`);
  let made = 0;
  return {
    ...context,
    trail,
    begin,
    month,
    log: `audit_log_${suffix}`,
    seals: `audit_seals_${suffix}`,
    /** Appends an entry of a resource; with `isOld` its id is of the month that leaves. */
    async append(
      owner: Owner,
      resource: { readonly type: string; readonly id: string },
      isOld: boolean,
    ): Promise<string> {
      made += 1;
      const entryId = isOld ? uuidv7({ msecs: begin.getTime() + made }) : uuidv7();
      const event = eventOf(owner, resource.id, { resource, entryId });
      await trail.db.asService((tx) => trail.trail.append(tx, event));
      return entryId;
    },
    sealed: () => untilSealed(sql),
    /** Runs `probatio partitions` as the owner. */
    partitions: (...args: readonly string[]) =>
      runCli(['partitions', ...args], { DATABASE_OWNER_URL: vault.databases.owner }),
    newOwner: (): Owner => ({ userId: randomUUID(), tenantId: 'default' }),
  };
}

/** Returns what is answered for the proof of each entry, but the time and id of the request. */
export async function proofsOf(api: Api, ids: readonly string[]) {
  const answers = [];
  for (const id of ids) {
    const { status, body } = await api.send('GET', `/v1/audit/proof/${id}`);
    const { timestamp: _, requestId: _id, ...rest } = body;
    answers.push({ status, ...rest });
  }
  return answers;
}

/**
 * Asserts that searches name the months that are away, of those that they ask for, on each page.
 */
export async function assertMonthsNamed(
  t: ExecutionContext,
  readers: readonly Api[],
  away: readonly string[],
) {
  const [begin, second, end] = [
    beginOf(-2),
    new Date(beginOf(-2).getTime() + 86_400_000),
    beginOf(-1),
  ];
  const before = new Date(begin.getTime() - 1);
  const after = new Date(end.getTime() + 1);
  const text = (time: Date) => time.toISOString();
  const cases: readonly (readonly [query: string, named: readonly string[]])[] = [
    ['', away],
    ['?limit=1', away],
    [`?cursor=${randomUUID()}`, away],
    [`?from=${text(begin)}`, away],
    [`?from=${text(second)}`, away],
    [`?from=${text(end)}`, []],
    [`?to=${text(begin)}`, []],
    [`?to=${text(second)}`, away],
    [`?from=${text(before)}&to=${text(second)}`, away],
    [`?from=${text(second)}&to=${text(after)}`, away],
    [`?from=${text(end)}&to=${text(after)}`, []],
    [`?from=${text(second)}&to=${text(second)}`, []],
    [`?from=${text(after)}&to=${text(before)}`, []],
  ];
  for (const api of readers) {
    for (const [query, archivedMonths] of cases) {
      const { status, body } = await api.send('GET', `/v1/audit/entries${query}`);
      t.is(status, 200, query);
      t.deepEqual(body['archivedMonths'], archivedMonths, query);
    }
  }
}
