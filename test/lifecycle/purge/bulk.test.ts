import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import { pretendSealed } from '../../support/audit/unsealed.ts';
import { openDatabase } from '../../../app/db/database.ts';
import { selectExpired, start } from '../../../app/lifecycle/purge/expired-accounts.ts';
import { peakMemoryBytes } from '../../support/processes/process-figures.ts';
import { startVaultProcesses } from '../../support/processes/vault-processes.ts';
import { send } from '../../support/http/send.ts';
import { createKeyFile } from '../../support/vault/key-file.ts';
import { testStack } from '../../support/vault/stack.ts';
import { createSql } from '../../support/vault/sql.ts';
import {
  countsOf,
  expire,
  insertExpired,
  registerOnly,
  startPurgeVault,
} from '../../support/accounts/purge-vault.ts';
import { appending } from '../../support/audit/log-rows.ts';

const mebibyte = 2 ** 20;
const accounts = 10_000;
const slackBytes = 128 * mebibyte;

/** Starts the app as a process of its own, since the memory of this one includes other tests. */
async function startProcess(t: ExecutionContext) {
  const keys = await createKeyFile();
  t.teardown(() => keys.remove());
  const settings = { NODE_ENV: 'test', INTERNAL_API_KEYS_FILE: keys.path };
  const vault = await startVaultProcesses(testStack(), { settings });
  t.teardown(() => vault[Symbol.asyncDispose]());
  const headers = { 'X-Internal-Api-Key': keys.admin };
  const purge = () => send('POST', `${vault.baseUrl}/v1/auth/purge/expired`, { headers });
  return { vault, sql: createSql(vault), purge };
}

test.serial('ten thousand accounts are purged, and memory does not grow with them', async (t) => {
  const context = await startProcess(t);
  const { vault, sql, purge } = context;
  const real = await Promise.all(Array.from({ length: 10 }, () => registerOnly(context)));
  for (const { userId } of real) await expire(context, userId);
  const unsent = accounts - real.length;
  await insertExpired(sql, unsent);

  const peakBefore = peakMemoryBytes(vault.app.pid);
  const begin = performance.now();
  const answer = await purge();
  const seconds = (performance.now() - begin) / 1000;
  const growth = peakMemoryBytes(vault.app.pid) - peakBefore;
  t.log(`${seconds.toFixed(1)} s, ${Math.round(growth / mebibyte)} MiB more at the peak`);

  t.is(answer.status, 200, answer.text);
  t.deepEqual(countsOf(answer), {
    purgedAccounts: accounts,
    removedAuditTraces: accounts,
    removedEmails: unsent,
  });
  t.true(growth < slackBytes);
  const left = await sql('select count(*)::int from accounts');
  t.deepEqual(left, [{ count: 0 }]);
  const batches = await sql(
    "select count(*)::int from audit_entries where action = 'account.purged'",
  );
  t.deepEqual(batches, [{ count: accounts / 200 }]);
});

test.serial('an account with more rows than one statement removes is removed whole', async (t) => {
  const { sql, purge, stop } = await startPurgeVault();
  t.teardown(stop);
  await insertExpired(sql, 1);
  const rows = 1_500;
  const [account] = await sql('select id from accounts');
  const values = [account?.['id'], rows];
  const entries = await sql(
    `${appending(`
     select uuidv7(), $1::uuid, 'default', 'upload', n::text, 1, 'upload.created', '{}'
     from generate_series(1, $2::int) n`)} returning id`,
    values,
  );
  await pretendSealed(
    sql,
    entries.map(({ id }) => id),
  );
  await sql(
    `insert into outbox (id, kind, payload, user_id, available_at)
     select gen_random_uuid(), 'email', '{}', $1::uuid, now() + interval '1 day'
     from generate_series(1, $2::int)`,
    values,
  );
  await sql(
    `insert into known_addresses (account_id, address_hash, last_login_at)
     select $1::uuid, n::text, now() from generate_series(1, $2::int) n`,
    values,
  );
  t.deepEqual(countsOf(await purge()), {
    purgedAccounts: 1,
    removedAuditTraces: rows + 1,
    removedEmails: rows + 1,
  });
  const [left] = await sql(
    `select (select count(*) from audit_log where user_id = $1 and canonical is not null)::int
       as texts,
       (select count(*) from outbox where user_id = $1)::int as mails,
       (select count(*) from known_addresses)::int as addresses`,
    [account?.['id']],
  );
  t.deepEqual(left, { texts: 0, mails: 0, addresses: 0 });
});

const Plan: z.ZodType<PlanNode> = z.looseObject({
  'Node Type': z.string(),
  'Relation Name': z.string().optional(),
  'Index Name': z.string().optional(),
  get Plans() {
    return z.array(Plan).optional();
  },
});

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string | undefined;
  readonly 'Index Name'?: string | undefined;
  readonly Plans?: readonly PlanNode[] | undefined;
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

test.serial('a few expired accounts are found without a scan of many active ones', async (t) => {
  const { vault, sql, stop } = await startPurgeVault();
  t.teardown(stop);
  await insertExpired(sql, 100);
  await sql(
    `insert into accounts (id, tenant_id, email, status, plan, roles, scopes)
     select gen_random_uuid(), 'default', n || '@example.org', 'ACTIVE', 'standard', '{user}', '{}'
     from generate_series(1, 50000) n`,
  );
  await sql('analyze');
  const db = await openDatabase({ ...vault.config.database, poolSize: 1 });
  t.teardown(() => db.close());
  const [row] = await db.asService((tx) =>
    selectExpired(tx, start, new Date()).forUpdate().skipLocked().explain('json'),
  );
  const [plan] = z.object({ 'QUERY PLAN': z.array(z.object({ Plan })) }).parse(row)['QUERY PLAN'];
  if (plan === undefined) throw new Error('no plan');
  const onAccounts = nodesOf(plan.Plan).filter((node) => node['Relation Name'] === 'accounts');
  t.deepEqual(
    onAccounts.map((node) => node['Index Name']),
    ['accounts_unvalidated'],
    JSON.stringify(plan, undefined, 1),
  );
});
