import { randomUUID } from 'node:crypto';
import { cp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { StorageError } from '../../app/storage/interface/storage-error.ts';
import { SignerUnavailable } from '../../signer/protocol/signer-error.ts';
import { runProgram } from '../support/processes/processes.ts';
import { entriesOf } from '../support/vault/maintenance-vault.ts';
import { testStack } from '../support/vault/stack.ts';
import {
  assertGapless,
  createDrillVault,
  newestMark,
  tablesOf,
  untilAllSealed,
  type Parts,
} from './drill-vault.ts';
import { makeBackups, sealedBetween, type Backups } from './drill.ts';
import { refused } from './refused.ts';
import { serviceRequest } from '../support/http/service-request.ts';

/** The tests run serially: with a dozen vaults in one process, starts and stops would time out. */
const test = (anyTest as TestFn<Backups>).serial;

test.before(async (t) => {
  t.context = await makeBackups();
});
test.after.always((t) => t.context.remove());

test('backups of one moment start, and accept new entries', async (t) => {
  for (const moment of [t.context.older, t.context.newer]) {
    const drill = await createDrillVault(t, moment);
    const vault = await drill.start();
    t.deepEqual(vault.services.admission.admitted?.restoration, undefined);
    await vault.seal(3);
    await vault.stop();
    await assertGapless(t, drill);
  }
});

test('an older database is refused, and the error names the missing entries and key', async (t) => {
  const { older, newer, exchangedKeyId } = t.context;
  const drill = await createDrillVault(t, { ...newer, database: older.database });
  const { missing, markId } = await refused(t, drill);
  // The rotation of the key appended three entries.
  t.regex(missing, new RegExp(`the database lacks ${sealedBetween + 3} of \\d+ sealed entries`));
  t.regex(missing, /the database lacks the sealed entry [0-9a-f-]{36}/);
  t.regex(missing, new RegExp(`the database lacks the key ${exchangedKeyId}`));
  t.notRegex(missing, /the (token|object store) lacks/);
  t.is(markId, await newestMark(drill));
});

test('an older token is refused, and the error names the missing key', async (t) => {
  const { older, newer, exchangedKeyId } = t.context;
  const drill = await createDrillVault(t, { ...newer, token: older.token });
  const { missing } = await refused(t, drill);
  t.is(missing, `the token lacks the ACTIVE key ${exchangedKeyId}`);
  // Without the key, the marks that it signed cannot be read; one of its predecessor names it.
  const both = await createDrillVault(t, { ...older, store: newer.store });
  const { missing: lacking, message } = await refused(t, both);
  t.regex(lacking, new RegExp(`database lacks the key ${exchangedKeyId}`));
  t.regex(message, /\d+ newer marks cannot be read.* these numbers are lower bounds/);
});

test('the token of another vault is called so, and cannot be accepted', async (t) => {
  const drill = await createDrillVault(t, {
    ...t.context.newer,
    token: testStack().signerSocketPath,
  });
  const { markId, message } = await refused(t, drill);
  t.is(markId, '');
  t.regex(message, /^refused to start: the token is another vault's, since it holds the key /);
});

test('on an accepted older token the lost key is replaced, and later starts succeed', async (t) => {
  const { older, newer } = t.context;
  const drill = await createDrillVault(t, { ...newer, token: older.token });
  const { markId } = await refused(t, drill);
  await drill.accept(markId);
  const accepted = await drill.start();
  await accepted.append(3);
  const { keyRotation } = accepted.services;
  const request = serviceRequest({ internalKey: 'test' });
  const keyId = await keyRotation.create(request, { purpose: 'audit' });
  await keyRotation.activate(request, keyId, { predecessorLost: true });
  await untilAllSealed(drill.sql);
  await accepted.stop();
  const vault = await drill.start();
  await vault.seal(1);
  const [sealed] = await drill.sql(
    'select key_id from audit_entries order by sealed_at desc limit 1',
  );
  t.is(sealed?.['key_id'], keyId);
});

test('an older or empty object store is refused', async (t) => {
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
    missing: `the object store lacks the mark ${newest} and has none of this vault`,
    markId: newest,
  });
});

test('an empty database and token are refused beside an older object store', async (t) => {
  const { older, newer } = t.context;
  const database = testStack().templateDatabase;
  const wiped = await createDrillVault(t, { ...newer, database });
  t.regex((await refused(t, wiped)).missing, /the database lacks \d+ of \d+ sealed entries/);
  // Neither part has the key that signed the newest marks, but the token has the previous one.
  const older2 = await createDrillVault(t, { ...newer, database, token: older.token });
  t.regex((await refused(t, older2)).missing, /the database lacks \d+ of \d+ sealed entries/);
  const { signerSocketPath: token } = testStack();
  const strange = await createDrillVault(t, { ...newer, database, token });
  const { missing, markId } = await refused(t, strange);
  t.regex(missing, /^the database and the token lack the key of all \d+ marks in the object store/);
  t.is(markId, await newestMark(strange));
  await strange.accept(markId);
  const vault = await strange.start();
  await vault.seal(1);
});

test('an accepted state continues without gaps and records once what was missing', async (t) => {
  const { older, newer } = t.context;
  const parts: Parts = { ...newer, database: older.database };
  const drill = await createDrillVault(t, parts);
  const { missing, markId } = await refused(t, drill);
  const [{ sealed } = {}] = await drill.sql('select sum(sealed)::int as sealed from audit_totals');

  await drill.accept(markId);
  const vault = await drill.start();
  await vault.seal(4);
  const restored = await until(
    async () => {
      const entries = await entriesOf(drill.sql, { action: 'vault.restored' });
      return entries.length > 0 && (await newestMark(drill)) > markId && entries;
    },
    { what: 'a mark after the restoration', timeoutMs: 60_000 },
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
  t.not((await refused(t, lost)).markId, markId);
});

test('files stored after an older database are no garbage for 30 days', async (t) => {
  const { older, newer } = t.context;
  const drill = await createDrillVault(t, { ...newer, database: older.database });
  const { markId } = await refused(t, drill);
  const file = `${randomUUID()}/evidence.bin`;
  await drill.accept(markId);
  const vault = await drill.start();
  await drill.store(file);
  const collect = async () => {
    const { collectGarbage } = vault.services.maintenance;
    const request = serviceRequest({ internalKey: 'test' });
    const { deletedObjects } = await collectGarbage(request, { dryRun: false });
    return deletedObjects;
  };
  await until(async () => (await drill.sql(restoredEntries)).length > 0, {
    what: 'the entry vault.restored',
    timeoutMs: 60_000,
  });
  t.is(await collect(), 0);
  const age = `update audit_log set created_at = now() - make_interval(days => $1)
    where action = 'vault.restored'`;
  await drill.sql(age, [29]);
  t.is(await collect(), 0);
  await drill.sql(age, [30]);
  t.is(await collect(), 1);
});

const restoredEntries = `select 1 from audit_entries where action = 'vault.restored'`;

test('a first start writes a mark, and the last mark covers all sealed entries', async (t) => {
  const { older } = t.context;
  const drill = await createDrillVault(t, {
    database: testStack().templateDatabase,
    store: undefined,
    token: older.token,
  });
  const vault = await drill.start();
  const first = await until(async () => (await drill.objects.list())[0], {
    what: 'the first mark',
    timeoutMs: 60_000,
  });
  await vault.seal(2);
  await vault.stop();
  const last = await drill.objects.read(await newestMark(drill));
  t.not(last?.id, first);
  const { action, data } = JSON.parse(last?.entryCanonical ?? '') as Record<string, object>;
  const [log] = await drill.sql(
    `select count(*)::int as sealed,
        (select id from audit_entries order by id desc limit 1) as newest,
       (select string_agg(key_id, ' ' order by registered_at, key_id) from signing_keys) as keys
     from audit_entries`,
  );
  t.deepEqual({ action, data } as object, {
    action: 'vault.marked',
    data: { sealed: log?.sealed, newestEntryId: log?.newest, keyIds: log?.keys },
  });
  t.deepEqual(await drill.sql('select mark_id as id from audit_marks'), [{ id: last?.id }]);
});

test('without the object store nothing is sealed or collected until it is back', async (t) => {
  const drill = await createDrillVault(t, t.context.newer);
  const away = `${drill.storeDirectory}-away`;
  await rename(drill.storeDirectory, away);
  await writeFile(drill.storeDirectory, '');
  const vault = await drill.start();
  const request = serviceRequest({ internalKey: 'test' });
  await until(() => vault.services.health.isReady(), { what: 'readiness', timeoutMs: 60_000 });
  await vault.append(3);
  await t.throwsAsync(vault.services.maintenance.collectGarbage(request, { dryRun: false }), {
    instanceOf: StorageError,
  });
  const pending = 'select 1 from audit_queue where claim_id is null';
  t.is((await drill.sql(pending)).length, 3);
  await rm(drill.storeDirectory);
  await rename(away, drill.storeDirectory);
  await untilAllSealed(drill.sql);
  t.truthy(await vault.services.maintenance.collectGarbage(request, { dryRun: false }));
  t.is(
    vault.logLines.filter((line) =>
      line.includes('sealing waits: the high-water marks cannot be read'),
    ).length,
    1,
  );
});

test('without the signer no garbage is collected', async (t) => {
  const drill = await createDrillVault(t, { ...t.context.newer, token: '/nowhere/signer.sock' });
  const vault = await drill.start();
  const request = serviceRequest({ internalKey: 'test' });
  await t.throwsAsync(vault.services.maintenance.collectGarbage(request, { dryRun: false }), {
    instanceOf: SignerUnavailable,
  });
});

test('an older object store that becomes available late ends the process', async (t) => {
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

test('a refused process logs the reason in one line and exits with 78', async (t) => {
  const { older, newer } = t.context;
  const drill = await createDrillVault(t, { ...newer, database: older.database });
  const before = await tablesOf(drill);
  const terminationLog = `${drill.storeDirectory}-termination-log`;
  await writeFile(terminationLog, '');
  const environment = { ...drill.environment, TERMINATION_LOG: terminationLog };
  const app = runProgram(t, ['app/main.ts'], environment);
  t.is(await app.exitCode, 78);
  t.is(app.lines.length, 1);
  const line = JSON.parse(app.lines[0] ?? '') as Record<string, unknown>;
  t.like(line, { level: 'fatal', mark: await newestMark(drill) });
  t.regex(String(line['msg']), /^refused to start.*the database lacks.*docs\/restore\.md/);
  t.is(await readFile(terminationLog, 'utf8'), String(line['msg']));
  t.deepEqual(await tablesOf(drill), before);
});
