import test from 'ava';
import { Client } from 'pg';
import { proofHeader } from '../../support/accounts/reauth-account.ts';
import { startPurgeVault } from '../../support/accounts/purge-vault.ts';
import { ask, removalsLast, renew } from '../roles/ask.ts';
import { expectations } from '../roles/expectations.ts';
import { createCallers, createOwner } from '../roles/scene.ts';
import { reasonToAllow } from './exceptions.ts';
import { findExcess, type PlanNode } from './plan.ts';
import { recordStatements } from './recorder.ts';
import { pretendManyRows } from './statistics.ts';
import { walkAsCronJob, walkAsStranger } from './walks.ts';

/** Routes after which a caller can send nothing more, and the role of a caller to spare. */
const ending: ReadonlyMap<string, string> = new Map([
  ['POST /v1/auth/logout', 'auditor'],
  ['DELETE /v1/auth/account', 'operator'],
]);

test('no statement of a route or a worker reads more of 100,000 rows than its page', async (t) => {
  const { texts, stop } = recordStatements();
  t.teardown(stop);
  const context = await startPurgeVault();
  t.teardown(() => context.stop());
  const { vault, sql } = context;
  await walkAsStranger(context);
  await walkAsCronJob(context);
  const owner = await createOwner(vault, 'default');
  const callers = await createCallers(vault);
  const callerWith = (wanted: unknown) =>
    callers.find(({ role }) => role === wanted)?.api ?? owner.api;
  const admin = callerWith('platform_admin');
  for (const route of removalsLast) {
    const expectation = expectations[route.name];
    if (expectation === undefined || route.path.endsWith('/events')) continue;
    const apis = ending.has(route.name) ? [callerWith(ending.get(route.name))] : [owner.api, admin];
    for (const api of apis) {
      const present = await renew(sql, expectation, owner);
      const proof = await proofHeader(vault, api.caller);
      await ask(vault, api, route, expectation, present, proof);
    }
  }
  await pretendManyRows(vault.databases.admin);
  const problems: string[] = [];
  for (const url of [vault.databases.app, vault.databases.service]) {
    const login = decodeURIComponent(new URL(url).username);
    const client = new Client({ connectionString: url });
    await client.connect();
    t.teardown(() => client.end());
    await client.query('set enable_seqscan = off');
    const sent = [...(texts.get(login) ?? [])];
    t.true(sent.length > 50, `${login} sent ${sent.length} statements`);
    for (const text of sent) {
      const plan = await explain(client, text);
      for (const excess of findExcess(plan)) {
        if (reasonToAllow(text) === undefined) problems.push(`${login} ${excess}: ${text}`);
      }
    }
  }
  t.deepEqual(problems, []);
});

/** Returns the plan that Postgres keeps for a prepared statement. */
async function explain(client: Client, text: string): Promise<PlanNode> {
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `explain (generic_plan, format json) ${text}`,
  );
  const plan = rows[0]?.['QUERY PLAN'][0].Plan;
  if (plan === undefined) throw new Error(`no plan: ${text}`);
  return plan;
}
