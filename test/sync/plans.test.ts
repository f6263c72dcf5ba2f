import { randomUUID } from 'node:crypto';
import test from 'ava';
import { Client } from 'pg';
import { startVault } from '../support/vault/vault.ts';

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Statements, with the index that each must use under row-level security. */
const lookups: [statement: string, index: string][] = [
  ['select * from devices where device_id = $1', 'devices_pkey'],
  ['select * from sync_objects where object_id = $1', 'sync_objects_pkey'],
  ['select * from sync_objects where change_seq > 9990 order by change_seq', 'sync_objects_change'],
  ['select * from sync_counters', 'sync_counters_pkey'],
  ['select * from sync_requests where request_id = $1', 'sync_requests_pkey'],
  ['select * from sync_history where object_id = $1 order by id limit 10', 'sync_history_object'],
];

test('every look-up of synchronisation uses an index of the user in the tenant', async (t) => {
  const vault = await startVault();
  t.teardown(() => vault.stop());
  const owner = new Client({ connectionString: vault.databases.admin });
  await owner.connect();
  t.teardown(() => owner.end());
  const [userId, objectId] = [randomUUID(), randomUUID()];
  await owner.query(`
    create temporary table many as
      select
        case when i % 20 = 0 then '${userId}'::uuid else md5((i % 20)::text)::uuid end as user_id,
        case when i % 40 = 0 then 'one' else 'two' end as tenant_id,
        case when i = 0 then '${objectId}'::uuid else gen_random_uuid() end as id, i
      from generate_series(0, 19999) i;
    insert into devices (user_id, tenant_id, device_id) select user_id, tenant_id, id from many;
    insert into sync_objects
        (user_id, tenant_id, object_id, version, data, change_seq, last_modified_at)
      select user_id, tenant_id, id, 1, '{}', i, now() from many;
    insert into sync_history
        (id, user_id, tenant_id, object_id, version, status, device_id, changed_at)
      select gen_random_uuid(), user_id, tenant_id, id, 1, 'APPLIED', id, now() from many;
    insert into sync_requests (user_id, tenant_id, request_id, digest, answer, expires_at)
      select user_id, tenant_id, id, '', '', now() from many;
    insert into sync_counters (user_id, tenant_id, last_change)
      select gen_random_uuid(), tenant_id, 1 from many union all select '${userId}', 'one', 1;
    analyze devices, sync_objects, sync_history, sync_requests, sync_counters`);

  const user = new Client({ connectionString: vault.databases.app });
  await user.connect();
  t.teardown(() => user.end());
  await user.query(
    `select set_config('app.user_id', $1, false), set_config('app.tenant_id', 'one', false)`,
    [userId],
  );
  for (const [statement, index] of lookups) {
    const { rows } = await user.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `explain (analyze, format json) ${statement}`,
      statement.includes('$1') ? [objectId] : [],
    );
    const flatten = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(flatten)];
    const nodes = rows.flatMap((row) => flatten(row['QUERY PLAN'][0].Plan));
    t.deepEqual(
      nodes.map((node) => node['Index Name']).filter((name) => name !== undefined),
      [index],
      statement,
    );
    const inVain = nodes.map((node) => node['Rows Removed by Filter'] ?? 0);
    t.deepEqual(new Set(inVain), new Set([0]), statement);
  }
});
