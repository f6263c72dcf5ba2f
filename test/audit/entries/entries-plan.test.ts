import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { sql as kyselySql } from 'kysely';
import { findTrails, selectInReach, selectMatches } from '../../../app/audit/entries/matches.ts';
import { EntryQuery } from '../../../app/audit/entries/schema.ts';
import { asReader } from '../../../app/audit/entries/readers.ts';
import { inIndexOrder, openDatabase, type Database, type Tx } from '../../../app/db/database.ts';
import type { Caller } from '../../../app/http/requests/caller.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { appending } from '../../support/audit/log-rows.ts';

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Loops': number;
  readonly 'Actual Rows': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

const test = anyTest as TestFn<{ vault: TestVault; db: Database; caller: Caller }>;

const entries = 60_000;
const users = 20;
/** The partition with the entries. */
const filled = `audit_log_${new Date().toISOString().slice(0, 7).replace('-', '_')}`;
const resource = '018f0000-0000-7000-8000-000000000001';

/**
 * Inserts entries of many users, ten a resource, and ten of one known resource of the first user.
 */
const insertEntries = appending(`
  select uuidv7(), ($1::uuid[])[n + 1], 'default', 'upload',
    case when i / ${users} < 10 and n = 0 then '${resource}'
      else md5((i / ${users} / 10 || ' ' || n)) end,
    i / ${users} + 1, 'upload.created', repeat('x', 500)
  from generate_series(0, ${entries} - 1) i, lateral (select i % ${users}) as owner (n)`);

test.before(async (t) => {
  // Without a sealer no entry changes its state while the plans are measured.
  const vault = await startVault({ SIGNER_SOCKET_PATH: '/nowhere/signer.sock' });
  const sql = createSql(vault);
  const userIds = Array.from({ length: users }, () => randomUUID());
  await sql(insertEntries, [userIds]);
  await sql('analyze audit_log, audit_trails');
  const { app: url, service: serviceUrl } = vault.databases;
  const db = await openDatabase({ url, serviceUrl, poolSize: 1 });
  const caller: Caller = {
    userId: userIds[0] ?? '',
    tenantId: 'default',
    plan: 'standard',
    roles: [],
    scopes: [],
    sessionId: undefined,
    issuer: '',
    expiresAt: new Date(),
  };
  t.context = { vault, db, caller };
});
test.after.always(async (t) => {
  await t.context.db.close();
  await t.context.vault.stop();
});

/** Runs the query of a first page and returns how the table was read, and how many rows of it. */
async function readsOf(db: Database, caller: Caller, query: Record<string, string>) {
  const asked = EntryQuery.parse({ limit: '10', ...query });
  const explain = async (tx: Tx) => {
    const sought = { ...asked, trailIds: await findTrails(tx, caller, asked) };
    const found = selectMatches(tx, selectInReach(tx, caller, sought), sought).limit(11);
    return kyselySql<{
      'QUERY PLAN': [{ Plan: PlanNode }];
    }>`explain (analyze, format json) ${found}`.execute(tx);
  };
  const { rows } = await asReader(db, caller, explain, inIndexOrder);
  const flatten = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(flatten)];
  const [plan] = rows[0]?.['QUERY PLAN'] ?? [];
  if (plan === undefined) throw new Error('no plan');
  const nodes = flatten(plan.Plan);
  // Other partitions are empty, and have no page that a scan could read.
  const reads = nodes.filter((node) => node['Relation Name'] === filled);
  return {
    nodes: reads.map((node) => node['Node Type']),
    indexes: nodes.map((node) => node['Index Name']),
    rows: reads.reduce(
      (sum, node) =>
        sum + node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)),
      0,
    ),
  };
}

const time = new Date(Date.now() - 3_600_000).toISOString();

const questions: [what: string, query: Record<string, string>, rows: number][] = [
  ['the newest entries', {}, 11],
  ['entries of an action', { action: 'upload.created' }, 11],
  ['entries of a type', { resourceType: 'upload' }, 11],
  ['entries of a resource', { resourceType: 'upload', resourceId: resource }, 11],
  ['entries of a resource of any type', { resourceId: resource }, 11],
  ['entries of an action on a resource', { resourceId: resource, action: 'upload.expired' }, 11],
  ['entries after a time', { from: time }, 11],
  ['entries before a time', { to: time }, 0],
  ['entries of a rare action', { action: 'upload.expired' }, 10_000],
];

for (const [what, query, expected] of questions) {
  test(`under row-level security an index finds ${what}`, async (t) => {
    const { db, caller } = t.context;
    const own = await readsOf(db, caller, query);
    t.false(own.nodes.includes('Seq Scan'), own.nodes.join());
    t.true(own.rows <= Math.min(expected, entries / users), String(own.rows));
    for (const role of ['auditor', 'platform_auditor']) {
      const all = await readsOf(db, { ...caller, roles: [role] }, query);
      t.false(all.nodes.includes('Seq Scan'), all.nodes.join());
      t.true(all.rows <= expected, `${role}: ${all.rows}`);
      // The index by owner would be read in full for the entries of one resource.
      const isByResource = query['resourceId'] !== undefined;
      t.is(all.indexes.includes(`${filled}_trail_id_id_idx`), isByResource, all.indexes.join());
    }
    const none = await readsOf(db, { ...caller, tenantId: 'acme', roles: ['auditor'] }, query);
    t.is(none.rows, 0, 'an auditor does not read the entries of other tenants on the way');
  });
}
