import { randomUUID } from 'node:crypto';
import { cp, rename, rm, writeFile } from 'node:fs/promises';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { StartRefused } from '../../app/restore/start-refused.ts';
import { StorageError } from '../../app/storage/interface/storage-error.ts';
import { SignerUnavailable } from '../../signer/protocol/signer-error.ts';
import { runProgram } from '../support/processes/processes.ts';
import { entriesOf } from '../support/vault/maintenance-vault.ts';
import { testStack } from '../support/vault/stack.ts';
import { createDrillVault, untilAllSealed, type DrillVault, type Parts } from './drill-vault.ts';
import { makeBackups, sealedBetween, type Backups } from './drill.ts';

/** One after the other: a start and an end give up what a dozen vaults in one process delay. */
const test = (anyTest as TestFn<Backups>).serial;
const noEntry = '00000000-0000-0000-0000-000000000000';

test.before(async (t) => {
  t.context = await makeBackups();
});
test.after.always((t) => t.context.remove());

/** Asserts that nothing was written either. Answers what is missing and the mark by which to accept it. */
async function refused(t: ExecutionContext, drill: DrillVault, settings = {}) {
  const before = await tablesOf(drill);
  const error = await t.throwsAsync(drill.start(settings), { instanceOf: StartRefused });
  t.deepEqual(await tablesOf(drill), before);
  const [, missing = '', markId = ''] =
    /^refused to start, as these are backups of different moments: (.*?)\..* set RESTORE_ACCEPT_MARK=(\S+) to go on as it is/.exec(
      error.message,
    ) ?? [];
  return { missing, markId };
}

function tablesOf({ sql }: DrillVault) {
  return sql(`select (select json_agg(e) from audit_entries e) as entries,
    (select json_agg(k) from signing_keys k) as keys, (select json_agg(m) from audit_marks m) as marks,
    (select json_agg(s) from sync_epochs s) as epochs,
    (select count(*)::int from outbox) as promised`);
}

async function newestMark({ objects }: DrillVault): Promise<string> {
  const [newest = noEntry] = await objects.list();
  return newest;
}

/** Every sequence counts from 1 without a gap. */
async function assertGapless(t: ExecutionContext, { sql }: DrillVault): Promise<void> {
  const gaps = await sql(
    `select resource_id from audit_entries group by user_id, resource_type, resource_id
     having count(*) <> max(seq)`,
  );
  t.deepEqual(gaps, []);
}

test('backups of one moment start, and entries go on', async (t) => {
  for (const moment of [t.context.older, t.context.newer]) {
    const drill = await createDrillVault(t, moment);
    const vault = await drill.start();
    t.deepEqual(vault.services.admission.admitted?.restoration, undefined);
    await vault.seal(3);
    await vault.stop();
    await assertGapless(t, drill);
  }
});

test('an older database is refused, and what it lacks is named', async (t) => {
  const { older, newer, exchangedKeyId } = t.context;
  const drill = await createDrillVault(t, { ...newer, database: older.database });
  const { missing, markId } = await refused(t, drill);
  // The exchange of the key left three entries.
  t.regex(missing, new RegExp(`the database lacks ${sealedBetween + 3} of \\d+ sealed entries`));
  t.regex(missing, /the database lacks the sealed entry [0-9a-f-]{36}/);
  t.regex(missing, new RegExp(`the database lacks the key ${exchangedKeyId}`));
  t.notRegex(missing, /the (token|object store) lacks/);
  t.is(markId, await newestMark(drill));
});

test('an older token is refused, and the key that it lacks is named', async (t) => {
  const { older, newer, exchangedKeyId } = t.context;
  const drill = await createDrillVault(t, { ...newer, token: older.token });
  const { missing } = await refused(t, drill);
  t.is(missing, `the token lacks the ACTIVE key ${exchangedKeyId}`);
});

test('on an older token that is accepted the lost key is replaced, and the next start is like any', async (t) => {
  const { older, newer } = t.context;
  const drill = await createDrillVault(t, { ...newer, token: older.token });
  const { markId } = await refused(t, drill);
  const accepted = await drill.start({ RESTORE_ACCEPT_MARK: markId });
  await accepted.append(3);
  const { keyRotation } = accepted.services;
  const operator = { requestedBy: 'test', requestId: null };
  const keyId = await keyRotation.create('audit', operator);
  await keyRotation.activate(keyId, { ...operator, predecessorLost: true });
  await untilAllSealed(drill.sql);
  await accepted.stop();
  const vault = await drill.start();
  await vault.seal(1);
  const [sealed] = await drill.sql(
    'select key_id from audit_entries order by sealed_at desc limit 1',
  );
  t.is(sealed?.['key_id'], keyId);
});

test('an older object store is refused, and so is an empty one', async (t) => {
  const { older, newer } = t.context;
  const complete = await createDrillVault(t, newer);
  const newest = await newestMark(complete);
  const drill = await createDrillVault(t, { ...newer, store: older.store });
  const { missing, markId } = await refused(t, drill);
  const had = await newestMark(drill);
  t.true(missing.startsWith(`the object store lacks the mark ${newest} and has ${had} of `));
  t.is(markId, newest);
  const empty = await createDrillVault(t, { ...newer, store: undefined });
  t.like(await refused(t, empty), {
    missing: `the object store lacks the mark ${newest} and has none of ours`,
    markId: newest,
  });
});

test('a database and a token that know nothing are refused beside an old object store', async (t) => {
  const { older, newer } = t.context;
  const database = testStack().templateDatabase;
  const wiped = await createDrillVault(t, { ...newer, database });
  t.regex((await refused(t, wiped)).missing, /the database lacks \d+ of \d+ sealed entries/);
  // Neither has the key that signed the newest marks; the token has the one of before.
  const older2 = await createDrillVault(t, { ...newer, database, token: older.token });
  t.regex((await refused(t, older2)).missing, /the database lacks \d+ of \d+ sealed entries/);
  const { signerSocketPath: token } = testStack();
  const strange = await createDrillVault(t, { ...newer, database, token });
  const { missing, markId } = await refused(t, strange);
  t.regex(missing, /^the database and the token lack the key of all \d+ marks in the object store/);
  t.is(markId, await newestMark(strange));
  const vault = await strange.start({ RESTORE_ACCEPT_MARK: markId });
  await vault.seal(1);
});

test('an accepted state goes on without gaps, says what was missing, and is accepted once', async (t) => {
  const { older, newer } = t.context;
  const parts: Parts = { ...newer, database: older.database };
  const drill = await createDrillVault(t, parts);
  const { missing, markId } = await refused(t, drill, { RESTORE_ACCEPT_MARK: randomUUID() });
  const [{ sealed } = {}] = await drill.sql('select sum(sealed)::int as sealed from audit_totals');

  const vault = await drill.start({ RESTORE_ACCEPT_MARK: markId });
  await vault.seal(4);
  const restored = await until(
    async () => {
      const entries = await entriesOf(drill.sql, { action: 'vault.restored' });
      return entries.length > 0 && (await newestMark(drill)) > markId && entries;
    },
    { what: 'a mark after the restoration', timeoutMs: 10_000 },
  );
  await drill.untilMarked();
  await vault.stop();
  const [{ epoch } = {}] = await drill.sql('select epoch from sync_epochs');
  t.regex(String(epoch), /^[0-9a-f]{16}$/);
  t.deepEqual(
    restored.map(({ actor, data, resourceId }) => ({ actor, data, resourceId })),
    [
      {
        actor: { type: 'system', id: 'marks' },
        data: { mark: markId, missing, sealed, epoch },
        resourceId: markId,
      },
    ],
  );
  await assertGapless(t, drill);

  const again = await drill.start();
  await again.seal(1);
  await again.stop();
  t.is((await entriesOf(drill.sql, { action: 'vault.restored' })).length, 1);
  const lost = await createDrillVault(t, { ...parts, store: drill.storeDirectory });
  t.not((await refused(t, lost, { RESTORE_ACCEPT_MARK: markId })).markId, markId);
});

test('what was stored after an older database is no garbage for 30 days', async (t) => {
  const { older, newer } = t.context;
  const drill = await createDrillVault(t, { ...newer, database: older.database });
  const { markId } = await refused(t, drill);
  const file = `${randomUUID()}/evidence.bin`;
  const vault = await drill.start({ RESTORE_ACCEPT_MARK: markId });
  await drill.store(file);
  const collect = async () => {
    const { collectGarbage } = vault.services.maintenance;
    const { deletedObjects } = await collectGarbage({
      dryRun: false,
      requestedBy: 'test',
      requestId: randomUUID(),
    });
    return deletedObjects;
  };
  await until(async () => (await drill.sql(restoredEntries)).length > 0, {
    what: 'the entry',
    timeoutMs: 10_000,
  });
  t.is(await collect(), 0);
  const age = `update audit_entries set created_at = now() - make_interval(days => $1)
    where action = 'vault.restored'`;
  await drill.sql(age, [29]);
  t.is(await collect(), 0);
  await drill.sql(age, [30]);
  t.is(await collect(), 1);
});

const restoredEntries = `select 1 from audit_entries where action = 'vault.restored'`;

test('a first start makes a mark, and the last one says what was sealed', async (t) => {
  const { older } = t.context;
  const drill = await createDrillVault(t, {
    database: testStack().templateDatabase,
    store: undefined,
    token: older.token,
  });
  const vault = await drill.start();
  const first = await until(async () => (await drill.objects.list())[0], {
    what: 'the first mark',
    timeoutMs: 10_000,
  });
  await vault.seal(2);
  await vault.stop();
  const last = await drill.objects.read(await newestMark(drill));
  t.not(last?.id, first);
  const { action, data } = JSON.parse(last?.entryCanonical ?? '') as Record<string, object>;
  const [log] = await drill.sql(
    `select count(*)::int as sealed, (select id from audit_entries order by id desc limit 1) as newest,
       (select string_agg(key_id, ' ' order by registered_at, key_id) from signing_keys) as keys
     from audit_entries`,
  );
  t.deepEqual({ action, data } as object, {
    action: 'vault.marked',
    data: { sealed: log?.sealed, newestEntryId: log?.newest, keyIds: log?.keys },
  });
  t.deepEqual(await drill.sql('select mark_id as id from audit_marks'), [{ id: last?.id }]);
});

test('with the object store away nothing is signed or collected; once it is back all goes on', async (t) => {
  const drill = await createDrillVault(t, t.context.newer);
  const away = `${drill.storeDirectory}-away`;
  await rename(drill.storeDirectory, away);
  await writeFile(drill.storeDirectory, '');
  const vault = await drill.start();
  const maintenance = { dryRun: false, requestedBy: 'test', requestId: randomUUID() };
  await until(() => vault.services.health.isReady(), { what: 'readiness', timeoutMs: 10_000 });
  await vault.append(3);
  await t.throwsAsync(vault.services.maintenance.collectGarbage(maintenance), {
    instanceOf: StorageError,
  });
  const pending = `select 1 from audit_entries where state = 'PENDING' and claim_id is null`;
  t.is((await drill.sql(pending)).length, 3);
  await rm(drill.storeDirectory);
  await rename(away, drill.storeDirectory);
  await untilAllSealed(drill.sql);
  t.truthy(await vault.services.maintenance.collectGarbage(maintenance));
  t.is(
    vault.logLines.filter((line) => line.includes('nothing is sealed: no marks are read')).length,
    1,
  );
});

test('with the signer away nothing is collected', async (t) => {
  const drill = await createDrillVault(t, { ...t.context.newer, token: '/nowhere/signer.sock' });
  const vault = await drill.start();
  const maintenance = { dryRun: false, requestedBy: 'test', requestId: randomUUID() };
  await t.throwsAsync(vault.services.maintenance.collectGarbage(maintenance), {
    instanceOf: SignerUnavailable,
  });
});

test('an older object store that comes back late ends the process', async (t) => {
  const { older, newer } = t.context;
  const drill = await createDrillVault(t, newer);
  await rm(drill.storeDirectory, { recursive: true });
  await writeFile(drill.storeDirectory, '');
  const vault = await drill.start();
  await vault.append(1);
  await rm(drill.storeDirectory);
  await cp(older.store ?? '', drill.storeDirectory, { recursive: true });
  const refusal = await vault.services.admission.refused;
  t.regex(refusal.message, /the object store lacks the mark/);
  await vault.stop();
  t.is((await drill.sql(`select 1 from audit_entries where state = 'PENDING'`)).length, 1);
});

test('a process that is refused says why in one line and ends with 78', async (t) => {
  const { older, newer } = t.context;
  const drill = await createDrillVault(t, { ...newer, database: older.database });
  const before = await tablesOf(drill);
  const app = runProgram(t, ['app/main.ts'], drill.environment);
  t.is(await app.exitCode, 78);
  t.is(app.lines.length, 1);
  const line = JSON.parse(app.lines[0] ?? '') as Record<string, unknown>;
  t.like(line, { level: 'fatal', mark: await newestMark(drill) });
  t.regex(String(line['msg']), /^refused to start.*the database lacks.*docs\/restore\.md/);
  t.deepEqual(await tablesOf(drill), before);
});
