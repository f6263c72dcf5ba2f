import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { recordTallies } from '../../../app/audit/tallies/recorder.ts';
import { certify, storeDocument } from '../../support/documents/documents.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import { openTrail } from '../../support/audit/entries.ts';
import { sealEntries } from '../sealing/sealed.ts';

const test = anyTest as TestFn<{ vault: TestVault; sql: Sql }>;

test.before(async (t) => {
  const vault = await startReadyVault();
  // Without the worker only the tests decide when a minute ends.
  await vault.services.tallies.stop();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

/** Counts the reads so far: those in open tallies and those in entries. */
async function countReads(sql: Sql, userId: string): Promise<number> {
  const [row] = await sql(
    `select (select coalesce(sum(count), 0) from audit_tallies
        where user_id = $1 and action = 'audit.read')
      + (select coalesce(sum((canonical::json->'data'->>'count')::int), 0) from audit_entries
        where user_id = $1 and action = 'audit.read') as count`,
    [userId],
  );
  return Number(row?.count);
}

test.serial('each request that reads or verifies proofs is counted as one read', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const { userId } = api.caller;
  const ids = await sealEntries(vault, sql, api.caller, 3);
  const { id } = await storeDocument(t, api);
  t.is((await certify(api, id)).status, 200);
  t.is(await countReads(sql, userId), 0);
  const requests: [method: string, path: string, json?: object][] = [
    ['GET', `/v1/audit/proof/${ids[0]}`],
    ['GET', `/v1/audit/proof/${ids[0]}/verify`],
    ['POST', '/v1/audit/proof/verify-batch', { ids }],
    ['GET', '/v1/audit/proof/status'],
    ['GET', `/v1/documents/${id}/proof`],
  ];
  for (const [turn, [method, path, json]] of requests.entries()) {
    t.is((await api.send(method, path, { json })).status, 200, path);
    t.is(await countReads(sql, userId), turn + 1, path);
  }
  t.is((await api.send('GET', `/v1/audit/proof/${randomUUID()}`)).status, 404);
  t.is((await api.send('GET', '/v1/audit/entries')).status, 200);
  t.is(await countReads(sql, userId), 5);
});

test.serial('a read is counted in the tenant of its token', async (t) => {
  const { vault, sql } = t.context;
  const one = await createApi(vault);
  const { userId } = one.caller;
  const other = await createApi(vault, { userId, tenantId: 'elsewhere' });
  for (const api of [one, other]) await api.send('GET', '/v1/audit/proof/status');
  const tallies = 'select tenant_id, sum(count)::int as count from audit_tallies';
  t.deepEqual(await sql(`${tallies} where user_id = $1 group by 1 order by 1`, [userId]), [
    { tenant_id: 'default', count: 1 },
    { tenant_id: 'elsewhere', count: 1 },
  ]);
});

test.serial(
  'the reads of a caller in one minute become one entry, whoever owns the proofs',
  async (t) => {
    const { vault, sql } = t.context;
    const owner = await createApi(vault);
    const auditor = await createApi(vault, { roles: ['auditor'] });
    const [id] = await sealEntries(vault, sql, owner.caller, 1);
    for (let time = 0; time < 3; time += 1) {
      t.is((await auditor.send('GET', `/v1/audit/proof/${id}`)).status, 200);
    }
    t.is(await countReads(sql, owner.caller.userId), 0);
    const { db, trail, readRoom, close } = await openTrail(vault);
    t.teardown(close);
    // Moves the reads into one minute, in case the test crossed the end of one.
    await sql(
      `with reads as (delete from audit_tallies where user_id = $1 returning *)
    insert into audit_tallies select date_trunc('minute', now()), user_id, action, actor_id,
      resource_type, resource_id, detail, tenant_id, sum(count)
    from reads group by 2, 3, 4, 5, 6, 7, 8`,
      [auditor.caller.userId],
    );
    const inTwoMinutes = new Date(Date.now() + 120_000);
    await recordTallies(db, trail, () => inTwoMinutes, readRoom);
    const rows = await sql('select canonical from audit_entries where user_id = $1', [
      auditor.caller.userId,
    ]);
    const { userId } = auditor.caller;
    t.is(rows.length, 1);
    const entry = JSON.parse(String(rows[0]?.canonical)) as { data: { count: number } };
    t.like(entry, {
      action: 'audit.read',
      actor: { type: 'user', id: userId },
      resource: { type: 'account', id: userId, owner: userId },
      outcome: 'success',
    });
    t.is(entry.data.count, 3);
  },
);

test.serial('a read that cannot be recorded returns no proof', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const ids = await sealEntries(vault, sql, api.caller, 1);
  await sql('alter table audit_tallies add constraint refused check (false) not valid');
  for (const [method, path, json] of [
    ['GET', `/v1/audit/proof/${ids[0]}`],
    ['GET', `/v1/audit/proof/${ids[0]}/verify`],
    ['POST', '/v1/audit/proof/verify-batch', { ids }],
    ['GET', '/v1/audit/proof/status'],
  ] as const) {
    const { status, body } = await api.send(method, path, { json });
    t.is(status, 500, path);
    t.is(body.code, 'internal_error');
    t.false('entryCanonical' in body || 'valid' in body);
  }
  await sql('alter table audit_tallies drop constraint refused');
  t.is((await api.send('GET', `/v1/audit/proof/${ids[0]}`)).status, 200);
});
