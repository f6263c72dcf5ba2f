import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { eraseTraces } from '../../../app/audit/entries/erasure.ts';
import type { Owner } from '../../../app/db/database.ts';
import { pauseAt, untilWaiting } from '../../support/accounts/paused-statement.ts';
import { untilSealed } from '../../support/accounts/purge-vault.ts';
import { eventOf, openTrail } from '../../support/audit/entries.ts';
import { startReplica } from '../../support/documents/replica.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { assertError } from '../../support/http/error-body.ts';
import { send } from '../../support/http/send.ts';
import { serviceRequest } from '../../support/http/service-request.ts';
import {
  startMaintenanceVault,
  type MaintenanceVault,
} from '../../support/vault/maintenance-vault.ts';
import { become, sealEntries } from '../../audit/sealing/sealed.ts';
import { pretendSealed } from '../../support/audit/unsealed.ts';
import { appending } from '../../support/audit/log-rows.ts';
import { damages, isOfTrail } from './damages.ts';

const damaged = { status: 500, code: 'log_damaged' };
const whole = { damagedEntries: 0, missingEntries: 0, mendedFindings: 0 };

async function startVault(
  t: ExecutionContext,
  settings: NodeJS.ProcessEnv = { MAINTENANCE_VERIFY_DAYS: '1' },
): Promise<MaintenanceVault> {
  const vault = await startMaintenanceVault(settings);
  t.teardown(() => vault.stop());
  return vault;
}

const newOwner = (): Owner => ({ userId: randomUUID(), tenantId: 'default' });

/** Appends entries of one resource and waits for their signatures. Resolves with the resource. */
async function sealTrail({ vault, sql }: MaintenanceVault, count: number): Promise<string> {
  const trail = await openTrail(vault, newOwner());
  const resourceId = randomUUID();
  try {
    for (let n = 0; n < count; n += 1) {
      await trail.db.asUser(trail.owner, (tx) =>
        trail.trail.append(tx, eventOf(trail.owner, resourceId)),
      );
    }
  } finally {
    await trail.close();
  }
  await untilSealed(sql);
  return resourceId;
}

const detailsOf = (body: unknown) =>
  (body as { readonly details: readonly { path: string; message: string }[] }).details;

async function alertsOf({ vault }: MaintenanceVault) {
  const alerts = await vault.services.dlq.alerts(serviceRequest({ internalKey: 'test' }));
  return alerts.filter(({ code }) => code === 'log_damaged').map(({ value }) => value);
}

test('a whole log is verified, whatever the states of its entries are', async (t) => {
  const context = await startVault(t);
  const { vault, sql, counts } = context;
  await sealTrail(context, 3);
  const ids = await sealEntries(vault, sql, newOwner(), 4);
  for (const [index, statement] of Object.values(become).entries()) {
    await sql(statement, [ids[index]]);
  }
  const [size] = await sql(
    `select (select count(*)::int from audit_entries) as entries,
       (select count(*)::int from audit_trails) as trails`,
  );
  const entries = Number(size?.['entries']);
  // A run looks at the newest entries and at the whole log; its own entries are part of neither.
  const report = await counts('verify-log');
  t.like(report, { ...whole, checkedTrails: Number(size?.['trails']) + 1 });
  t.true(Number(report['checkedEntries']) >= 2 * entries);
  const walks = await sql('select name, ended_at is not null as ended from log_walks order by 1');
  t.deepEqual(walks, [
    { name: 'entries', ended: true },
    { name: 'trails', ended: true },
  ]);
  t.deepEqual(await alertsOf(context), []);
});

test('each damage fails the run until it is repaired, and the error names its place', async (t) => {
  const context = await startVault(t);
  const { sql, run } = context;
  for (const [what, [statement, defects]] of Object.entries(damages)) {
    const resourceId = await sealTrail(context, 3);
    await sql(`drop table if exists saved, saved_seals`);
    await sql('create table saved as select * from audit_log');
    await sql(`delete from saved where not ${isOfTrail}`, [resourceId]);
    await sql(
      'create table saved_seals as select s.* from audit_seals s join saved on id = entry_id',
    );
    t.is((await run('verify-log')).status, 200, `before ${what}`);
    await sql(statement, [resourceId]);
    const found = await run('verify-log');
    assertError(t, found, damaged, what);
    const expected = Object.entries(defects).map(([seq, message]) => ({
      path: `upload/${resourceId}/${seq}`,
      message: String(message),
    }));
    t.deepEqual(detailsOf(found.body), expected, what);
    t.deepEqual(await alertsOf(context), [expected.length], what);
    const again = await run('verify-log');
    t.deepEqual(detailsOf(again.body), expected, `again ${what}`);

    await sql(`delete from audit_log where ${isOfTrail}`, [resourceId]);
    await sql('delete from audit_seals using saved where entry_id = id');
    await sql('insert into audit_seals select * from saved_seals');
    await sql('insert into audit_log select * from saved');
    await sql('delete from audit_queue using saved where entry_id = id');
    const mended = await run('verify-log');
    t.is(mended.status, 200, mended.text);
    t.like(mended.body, { ...whole, mendedFindings: expected.length }, what);
    t.deepEqual(await alertsOf(context), [], what);
  }
  await sql('drop table saved, saved_seals');
});

test('an entry that is missing from the trail of an erased account is found', async (t) => {
  const context = await startVault(t);
  const { vault, sql, run } = context;
  const resourceId = await sealTrail(context, 3);
  const [trail] = await sql('select user_id from audit_trails where resource_id = $1', [
    resourceId,
  ]);
  const { db, close } = await openTrail(vault, newOwner());
  t.teardown(close);
  const userIds = [String(trail?.['user_id'])];
  t.is(await db.asService((tx) => eraseTraces(tx, userIds, new Date())), 3);
  t.is((await run('verify-log')).status, 200);
  await sql(`delete from audit_log where ${isOfTrail} and seq = 3`, [resourceId]);
  const found = await run('verify-log');
  assertError(t, found, damaged);
  t.deepEqual(detailsOf(found.body), [{ path: `upload/${resourceId}/3`, message: 'missing' }]);
});

test('entries whose trail was removed are found, and remain readable', async (t) => {
  const context = await startVault(t);
  const { vault, sql, run } = context;
  const resourceId = await sealTrail(context, 2);
  const auditor = await createApi(vault, { roles: ['platform_auditor'] });
  const resources = async () => {
    const { body } = await auditor.send('GET', '/v1/audit/entries?action=upload.created');
    return (body as { entries: { resource: object }[] }).entries.map(({ resource }) => resource);
  };
  const known = { type: 'upload', id: resourceId };
  t.deepEqual(await resources(), [known, known]);
  const [trail] = await sql('delete from audit_trails where resource_id = $1 returning id', [
    resourceId,
  ]);
  const unknown = { type: 'unknown', id: 'unknown' };
  t.deepEqual(await resources(), [unknown, unknown]);
  const found = await run('verify-log');
  assertError(t, found, damaged);
  t.deepEqual(detailsOf(found.body), [
    { path: `trail/${String(trail?.['id'])}/1`, message: 'row_mismatch' },
    { path: `trail/${String(trail?.['id'])}/2`, message: 'row_mismatch' },
  ]);
});

test('a run that finds damage is recorded as failed, with its counts, and logged', async (t) => {
  const context = await startVault(t);
  const { vault, sql, run } = context;
  const resourceId = await sealTrail(context, 4);
  await sql(`delete from audit_log where ${isOfTrail} and seq = 2`, [resourceId]);
  await sql(
    `update audit_log set canonical = replace(canonical, '"fileSize":1', '"fileSize":2')
     where ${isOfTrail} and seq = 4`,
    [resourceId],
  );
  assertError(t, await run('verify-log'), damaged);
  const [recorded] = await sql('select error, counts from maintenance_runs');
  t.is(recorded?.['error'], 'log_damaged');
  t.like(JSON.parse(String(recorded?.['counts'])), {
    damagedEntries: 1,
    missingEntries: 1,
    mendedFindings: 0,
  });
  const lines = vault.logLines
    .map((line): Record<string, unknown> => JSON.parse(line))
    .filter(({ msg }) => msg === 'an audit entry is damaged or missing');
  t.deepEqual(lines.map(({ level, seq, defect }) => [level, seq, defect].join(' ')).toSorted(), [
    'error 2 missing',
    'error 4 hash_mismatch',
  ]);
  assertError(t, await run('verify-log'), damaged);
  const [again] = await sql('select counts from maintenance_runs order by id desc limit 1');
  t.like(JSON.parse(String(again?.['counts'])), whole);
});

/** Inserts erased entries that are newer than all others, so that these are not the newest. */
async function coverNewest({ sql }: MaintenanceVault): Promise<void> {
  const entries = await sql(
    `${appending(`
     select uuidv7(interval '30 days'), gen_random_uuid(), 'default', 'a', n, 1, 'a', '{}'
     from generate_series(1, 1000) n`)} returning id`,
  );
  const ids = entries.map(({ id }) => id);
  await pretendSealed(sql, ids);
  await sql('update audit_log set canonical = null, erased_at = now() where id = any($1)', [ids]);
}

const passDay = ({ sql }: MaintenanceVault) =>
  sql("update log_walks set began_at = began_at - interval '1 day'");

test('a run a day checks the whole log once within the days, in stretches', async (t) => {
  const context = await startVault(t, { MAINTENANCE_VERIFY_DAYS: '5' });
  const { sql, run, counts } = context;
  const resourceId = await sealTrail(context, 20);
  await coverNewest(context);
  await sql(`delete from audit_log where ${isOfTrail} and seq = 19`, [resourceId]);
  const [row] = await sql('select count(*)::int as size from audit_entries');
  const size = Number(row?.['size']);
  const preview = await counts('verify-log', '?dryRun=true');
  t.like(preview, { checkedEntries: 1_000 + Math.ceil(size / 5) });
  t.deepEqual(await sql('select 1 from log_walks'), []);
  const progress = [];
  for (let day = 1; day <= 5; day += 1) {
    const { status } = await run('verify-log');
    t.is(status, 500, `the missing entry is among the oldest: day ${day}`);
    const [walk] = await sql(
      `select checked::int, ended_at is not null as ended from log_walks where name = 'entries'`,
    );
    progress.push({ checked: Number(walk?.['checked']), ended: walk?.['ended'] });
    await passDay(context);
  }
  const shares = [1, 2, 3, 4].map((day) => Math.ceil((size * day) / 5));
  for (const [index, share] of shares.entries()) {
    const { checked = 0, ended } = progress[index] ?? {};
    t.false(ended);
    // The test itself takes time, for which another entry may be due.
    t.true(checked === share || checked === share + 1, `${checked} instead of ${share}`);
  }
  t.true(progress[4]?.ended);
  t.true(Number(progress[4]?.checked) >= size);
  const findings = await sql('select seq::int, defect from log_findings');
  t.deepEqual(findings, [{ seq: 19, defect: 'missing' }]);

  await run('verify-log');
  const [next] = await sql("select checked::int, ended_at from log_walks where name = 'entries'");
  t.is(next?.['ended_at'], null, 'another walk has begun');
  t.true(Number(next?.['checked']) < size / 2);
});

test('runs that were missed are made up for', async (t) => {
  const context = await startVault(t, { MAINTENANCE_VERIFY_DAYS: '30' });
  const { sql, run } = context;
  await sealTrail(context, 30);
  t.is((await run('verify-log')).status, 200);
  await sql("update log_walks set began_at = began_at - interval '28 days'");
  t.is((await run('verify-log')).status, 200);
  const walk = "select ended_at is not null as ended from log_walks where name = 'entries'";
  t.deepEqual(await sql(walk), [{ ended: false }]);
  await sql("update log_walks set began_at = began_at - interval '7 days'");
  t.is((await run('verify-log')).status, 200);
  t.deepEqual(await sql(walk), [{ ended: true }]);
});

test('a run whose process dies loses no finding, and the next run goes on', async (t) => {
  const context = await startVault(t);
  const { vault, sql, keys, run } = context;
  const replica = await startReplica(vault, {
    INTERNAL_API_KEYS_FILE: keys.path,
    MAINTENANCE_VERIFY_DAYS: '1',
  });
  const resourceId = await sealTrail(context, 3);
  await sql(`delete from audit_log where ${isOfTrail} and seq = 2`, [resourceId]);
  const paused = await pauseAt(vault, 'insert on log_walks');
  const lost = send('POST', `${replica.baseUrl}/v1/internal/maintenance/verify-log`, {
    headers: { 'X-Internal-Api-Key': keys.admin },
  });
  await untilWaiting(vault, 1);
  replica.process.kill('SIGKILL');
  await t.throwsAsync(lost);
  await paused.end();
  const findings = 'select seq::int, defect from log_findings';
  t.deepEqual(await sql(findings), [{ seq: 2, defect: 'missing' }]);
  // The lease of the dead process would end after 15 s.
  await sql('update maintenance_locks set held_until = now()');
  assertError(t, await run('verify-log'), damaged);
  t.deepEqual(await sql(findings), [{ seq: 2, defect: 'missing' }]);
  const walks = await sql('select name from log_walks where ended_at is not null order by 1');
  t.deepEqual(walks, [{ name: 'entries' }, { name: 'trails' }]);
});

test('only true and false are values of dryRun, and nothing is checked otherwise', async (t) => {
  const { sql, run } = await startVault(t);
  for (const query of ['?dryRun=1', '?dryRun=', '?days=1', '?jam=true']) {
    assertError(t, await run('verify-log', query), { status: 400, code: 'validation_failed' });
  }
  t.deepEqual(await sql('select 1 from log_walks'), []);
  t.deepEqual(await sql('select 1 from maintenance_runs'), []);
});
