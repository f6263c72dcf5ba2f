import anyTest, { type TestFn } from 'ava';
import { openDatabase } from '../../app/db/database.ts';
import { until } from '../../app/dev/processes/until.ts';
import { systemClock } from '../../app/async/clock.ts';
import { createAuditTrail } from '../../app/audit-trail/audit-trail.ts';
import { createAcceptances } from '../../app/restore/acceptances.ts';
import { startAdmission } from '../../app/restore/admission.ts';
import { createMarkRecord } from '../../app/restore/high-water-marks/mark-record.ts';
import { noMark } from '../../app/restore/high-water-marks/mark.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { createSignerClient } from '../../signer/protocol/client.ts';
import { recordRestoration } from '../../app/restore/restoration.ts';
import { runCli } from '../support/processes/run-cli.ts';
import { entriesOf } from '../support/vault/maintenance-vault.ts';
import { createDrillVault, newestMark, type DrillVault } from './drill-vault.ts';
import { makeBackups, type Backups } from './drill.ts';
import { refused } from './refused.ts';
import { testIssuer } from '../support/vault/stack.ts';

const test = (anyTest as TestFn<Backups>).serial;

test.before(async (t) => {
  t.context = await makeBackups();
});
test.after.always((t) => t.context.remove());

/** A mark that is later than every real one. */
const otherMark = 'ffffffff-ffff-7fff-bfff-ffffffffffff';

/** Runs `probatio restored --accept`, with the logins of the drill. */
function accept({ environment }: DrillVault, markId: string) {
  const { HTTP_PUBLIC_URL, DATABASE_SERVICE_URL } = environment;
  return runCli(['restored', '--accept', markId], { HTTP_PUBLIC_URL, DATABASE_SERVICE_URL });
}

test('the command line accepts what a refused start names, for one restore', async (t) => {
  const { older, newer } = t.context;
  const drill = await createDrillVault(t, { ...newer, database: older.database });
  const { markId } = await refused(t, drill);
  const { code, stdout, stderr } = await accept(drill, markId);
  t.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  t.true(stdout.includes(markId));
  t.is((await accept(drill, markId.toUpperCase())).code, 0, 'it may be repeated');

  const vault = await drill.start();
  await vault.seal(1);
  await drill.untilMarked();
  const isUsed = async () => (await drill.sql('select from restore_acceptances')).length === 0;
  await until(isUsed, { what: 'the end of the acceptance', timeoutMs: 60_000 });
  await vault.stop();
  const [entry, ...others] = await entriesOf(drill.sql, { action: 'vault.restored' });
  t.is(entry?.resourceId, markId);
  t.deepEqual(others, []);

  const again = await accept(drill, markId);
  t.is(again.code, 1);
  t.regex(again.stderr, /^the database knows the newer mark [0-9a-f-]{36}: give the mark that/);
  await (await drill.start()).stop();
});

test('an acceptance of another mark lets nothing through, and is replaced', async (t) => {
  const { older, newer } = t.context;
  const drill = await createDrillVault(t, { ...newer, database: older.database });
  t.notRegex((await refused(t, drill)).message, /accepted mark/);
  await drill.accept(otherMark);
  const { markId, message } = await refused(t, drill);
  t.is(markId, await newestMark(drill));
  t.true(message.includes(` The accepted mark ${otherMark} is that of another state. Restore`));
  await drill.accept(markId);
  t.deepEqual(await drill.sql('select mark_id from restore_acceptances'), [{ mark_id: markId }]);
  await (await drill.start()).stop();
});

test('an acceptance does not cover a part that its first use did not lack', async (t) => {
  const drill = await createDrillVault(t, t.context.newer);
  const { DATABASE_SERVICE_URL: url = '' } = drill.environment;
  const db = await openDatabase({ url, serviceUrl: url, poolSize: 1 });
  t.teardown(() => db.close());
  const acceptances = createAcceptances(db);
  t.false(await acceptances.use(otherMark, ['database']));
  await drill.accept(otherMark);
  t.true(await acceptances.use(otherMark, ['database', 'token']));
  t.true(await acceptances.use(otherMark, ['database', 'token']), 'a replica uses it too');
  t.true(await acceptances.use(otherMark, ['token']));
  t.false(await acceptances.use(otherMark, ['token', 'object store']));
  await drill.accept(otherMark);
  t.true(await acceptances.use(otherMark, ['object store']), 'it was accepted anew');
  t.is(await acceptances.accepted(), otherMark);
});

test('a start whose acceptance ended by the mark of a replica is checked again', async (t) => {
  const { older, newer } = t.context;
  const drill = await createDrillVault(t, { ...newer, database: older.database });
  const { DATABASE_SERVICE_URL: url = '', SIGNER_SOCKET_PATH: socketPath = '' } = drill.environment;
  const db = await openDatabase({ url, serviceUrl: url, poolSize: 4 });
  const signer = createSignerClient({ socketPath });
  const record = createMarkRecord(db);
  const before = await record.newest();
  let checks = 0;
  const admission = await startAdmission({
    db,
    signer,
    // The replica restores nothing here, but the second check finds nothing to compare with.
    objects: {
      ...drill.objects,
      async list() {
        checks += 1;
        return checks === 1 ? drill.objects.list() : [];
      },
    },
    record: { ...record, newest: async () => (checks === 0 ? before : noMark) },
    acceptances: createAcceptances(db),
    clock: systemClock,
    log: createLog('silent'),
  });
  t.teardown(async () => {
    await admission.stop();
    signer.close();
    await db.close();
  });
  t.is(checks, 2);
  t.deepEqual(admission.admitted?.restoration, undefined);
  t.notThrows(() => admission.assertAdmitted());
});

test('each acceptance is recorded once, whichever processes use it', async (t) => {
  const drill = await createDrillVault(t, t.context.newer);
  const { DATABASE_SERVICE_URL: url = '' } = drill.environment;
  const db = await openDatabase({ url, serviceUrl: url, poolSize: 4 });
  t.teardown(() => db.close());
  const audit = createAuditTrail({
    issuer: testIssuer,
    clock: systemClock,
    assertClock: () => undefined,
    isBacklogFull: () => false,
    onCommitted: () => undefined,
  });
  const record = (loss: string) =>
    db.asService((tx) =>
      recordRestoration(tx, audit, { markId: otherMark, losses: [loss], sealed: 1 }),
    );
  for (const loss of ['a key', 'another key']) {
    await drill.accept(otherMark);
    await Promise.all([record(loss), record(loss), record(loss)]);
  }
  await drill.sql('delete from restore_acceptances');
  await record('a key of a process that was late');
  const entries = await entriesOf(drill.sql, { action: 'vault.restored' });
  t.deepEqual(
    entries.map(({ seq, data }) => [seq, data['missing']]),
    [
      [1, 'a key'],
      [2, 'another key'],
    ],
  );
});

test('what is no mark is refused by the command line', async (t) => {
  const { code, stderr } = await runCli(['restored', '--accept', 'the newest']);
  t.is(code, 2);
  t.regex(stderr, /^--accept must be the id of the mark that the refused start names\n/);
});
