import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { eraseTraces } from '../../../app/audit/entries/erasure.ts';
import { connectAs } from '../../support/accounts/two-tenants.ts';
import { documentAt } from '../../support/documents/documents.ts';
import { bytesOf, upload } from '../../support/documents/files.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import { submitExport, untilOver } from '../../support/jobs/evidence-exports.ts';
import { assertMonthsNamed, beginOf, proofsOf, startAwayVault, type AwayVault } from './away.ts';

const scopes = ['documents:read', 'documents:write', 'uploads:write', 'audit:read', 'jobs:submit'];

/** Stores a document whose first two entries are of the month that leaves. */
async function storeOldDocument(t: ExecutionContext, context: AwayVault, api: Api) {
  const id = randomUUID();
  const { userId, tenantId } = api.caller;
  const owner = { userId, tenantId };
  const resource = { type: 'document', id };
  const old = [
    await context.append(owner, resource, true),
    await context.append(owner, resource, true),
  ];
  const { fileKey } = await upload(t, api, bytesOf(100));
  const json = { id, ...documentAt(fileKey) };
  const { status, body } = await api.send('POST', '/v1/documents', { json });
  t.is(status, 201, JSON.stringify(body));
  await context.sql('update documents set created_at = $2 where id = $1', [id, context.begin]);
  await context.sealed();
  return { id, old };
}

/** Puts the rows into files of the database server, drops both tables, and restores them. */
async function archive({ sql, vault, log, seals }: AwayVault) {
  const owner = await connectAs(vault.databases.owner);
  const [dir] = await sql("select current_setting('data_directory') as path");
  const file = (table: string) => `${String(dir?.['path'])}/${randomUUID()}-${table}.copy`;
  const [logFile, sealsFile] = [file(log), file(seals)];
  await sql(`copy ${log} to '${logFile}' (format binary)`);
  await sql(`copy ${seals} to '${sealsFile}' (format binary)`);
  await owner.query(`drop table ${log}, ${seals}`);
  return {
    async restore(): Promise<void> {
      await owner.query(`create table ${log} (like audit_log including all);
        create table ${seals} (like audit_seals including all)`);
      await sql(`copy ${log} from '${logFile}' (format binary)`);
      await sql(`copy ${seals} from '${sealsFile}' (format binary)`);
      await owner.end();
    },
  };
}

test.serial(
  'every proof, the check of the log and exports are right before, while and after',
  async (t) => {
    const context = await startAwayVault(t);
    const { vault, sql, partitions, counts, month, log, append, newOwner } = context;
    const api = await createApi(vault, { scopes });
    const auditor = await createApi(vault, { roles: ['auditor'], scopes });
    const { id: documentId, old } = await storeOldDocument(t, context, api);
    const erasedUser = newOwner();
    const upload1 = { type: 'upload', id: randomUUID() };
    const gone = [
      await append(erasedUser, upload1, true),
      await append(erasedUser, upload1, false),
    ];
    const whole = newOwner();
    const upload2 = { type: 'upload', id: randomUUID() };
    const kept = [await append(whole, upload2, true), await append(whole, upload2, true)];
    await context.sealed();
    const ids = [...old, ...kept, ...gone];
    const before = await proofsOf(auditor, ids);
    t.true(before.every(({ status }) => status === 200));
    t.like(await counts('verify-log'), {
      damagedEntries: 0,
      missingEntries: 0,
      archivedMonths: [],
    });

    const left = await partitions('detach', month);
    t.is(left.code, 0, left.stderr);
    t.regex(left.stdout, new RegExp(`^${month} is away: 5 entries in ${log}, 5 seals in `));
    t.is((await partitions('detach', month)).stdout, left.stdout.replace('away:', 'away already:'));
    t.regex(
      (await partitions('list')).stdout,
      new RegExp(`^${month}  away since .*, 5 entries`, 'm'),
    );

    const archived = { status: 410, code: 'entry_archived' };
    for (const asking of [auditor, api]) {
      for (const path of ['', '/verify']) {
        t.like(await asking.send('GET', `/v1/audit/proof/${old[0]}${path}`), {
          status: 410,
          body: { code: 'entry_archived' },
        });
      }
    }
    const [while0, ...others] = await proofsOf(auditor, ids);
    t.like(while0, archived);
    t.deepEqual(
      others.map(({ status }) => status),
      [410, 410, 410, 410, 200],
    );
    const batch = await api.send('POST', '/v1/audit/proof/verify-batch', { json: { ids: old } });
    t.like(batch.body['results'], { [String(old[0])]: { valid: false, reason: 'entry_archived' } });
    const [from, to] = [beginOf(-2), beginOf(-1)].map((time) => time.toISOString());
    const entries = await api.send('GET', `/v1/audit/entries?from=${from}&to=${to}`);
    t.like(entries, { status: 410, body: { code: 'entry_archived' } });
    await assertMonthsNamed(t, [api, auditor], [month]);
    const list = await api.send('GET', `/v1/documents/${documentId}/proof`);
    t.like(list, { status: 200, body: { archivedMonths: [month] } });
    const status = await api.send('GET', '/v1/audit/proof/status');
    t.regex(String(status.body['message']), new RegExp(`Archived, and left out: ${month}\\.`));
    const job = await untilOver(api, await submitExport(api, { documentId }));
    t.like(job, { status: 'FAILED', error: 'entry_archived' });
    t.like(await counts('verify-log'), {
      damagedEntries: 0,
      missingEntries: 0,
      archivedMonths: [month],
    });
    t.deepEqual(await sql('select * from log_findings'), []);

    const { db } = context.trail;
    await db.asService((tx) => eraseTraces(tx, [erasedUser.userId], new Date()));
    const stored = await archive(context);
    t.like(await partitions('attach', month), { code: 1 });
    await stored.restore();
    await sql(`update ${log} set action = 'upload.aborted' where id = $1`, [kept[0]]);
    const refused = await partitions('attach', month);
    t.is(refused.code, 1);
    t.regex(refused.stderr, /^\S+ and \S+ have other rows than those that left[^\n]*\n$/);
    await sql(`update ${log} set action = 'upload.created' where id = $1`, [kept[0]]);
    const back = await partitions('attach', month);
    t.deepEqual([back.code, back.stderr], [0, '']);
    t.is(back.stdout, `${month} is attached, and 1 of its entries were erased\n`);
    t.is((await partitions('attach', month)).stdout, `${month} is attached already\n`);

    const after = await proofsOf(auditor, ids);
    t.deepEqual(after.slice(0, 4), before.slice(0, 4));
    for (const answer of after.slice(4)) t.like(answer, { status: 410, code: 'entry_erased' });
    t.deepEqual(await sql('select * from audit_archive_erasures'), []);
    t.like(await counts('verify-log'), {
      damagedEntries: 0,
      missingEntries: 0,
      archivedMonths: [],
    });
    await assertMonthsNamed(t, [api, auditor], []);
    t.is(
      (await api.send('GET', `/v1/documents/${documentId}/proof`)).body['archivedMonths'],
      undefined,
    );
    const exported = await untilOver(api, await submitExport(api, { documentId }));
    t.like(exported, { status: 'COMPLETED' });
    const [forced] = await sql(
      `select relforcerowsecurity as forced, relispartition as attached from pg_class
     where relname = $1`,
      [log],
    );
    t.deepEqual(forced, { forced: true, attached: true });
  },
);

test.serial('an entry that is missing elsewhere is found while a month is away', async (t) => {
  const context = await startAwayVault(t);
  const { sql, partitions, run, month, append, newOwner } = context;
  const owner = newOwner();
  const resource = { type: 'upload', id: randomUUID() };
  const ids = [];
  for (const isOld of [true, false, false, false]) ids.push(await append(owner, resource, isOld));
  await context.sealed();
  t.is((await partitions('detach', month)).code, 0);
  await sql('delete from audit_log where id = $1', [ids[2]]);
  t.is((await run('verify-log')).status, 500);
  t.deepEqual(await sql('select seq::int, defect from log_findings'), [
    { seq: 3, defect: 'missing' },
  ]);
});

test.serial('a detach that was killed goes on, and its month is not attached before', async (t) => {
  const context = await startAwayVault(t);
  const { sql, partitions, month, append, newOwner } = context;
  await append(newOwner(), { type: 'upload', id: randomUUID() }, true);
  await append(newOwner(), { type: 'upload', id: randomUUID() }, false);
  await context.sealed();
  const { stdout } = await partitions('detach', month);
  // A kill between the two transactions of the command leaves this.
  await sql(`update audit_archives set state = 'DETACHING', digest = null, entries = null,
    seals = null`);
  const refused = await partitions('attach', month);
  t.is(refused.code, 1);
  t.regex(refused.stderr, /not noted: call probatio partitions detach/);
  t.regex((await partitions('list')).stdout, /being detached/);
  t.is((await partitions('detach', month)).stdout, stdout);
  t.is((await partitions('attach', month)).code, 0);
});

test.serial('a month with what is not sealed, and the newest, stay', async (t) => {
  const context = await startAwayVault(t);
  const { sql, partitions, month, append, newOwner } = context;
  const id = await append(newOwner(), { type: 'upload', id: randomUUID() }, true);
  await context.sealed();
  await sql('delete from audit_log where id <> $1', [id]);
  await sql('delete from audit_seals where entry_id <> $1', [id]);
  await sql('delete from audit_queue');
  const newest = await partitions('detach', month);
  t.is(newest.code, 1);
  t.regex(newest.stderr, /^[^\n]*newest sealed entry[^\n]*\n$/);
  await append(newOwner(), { type: 'upload', id: randomUUID() }, false);
  await context.sealed();
  await sql(
    `insert into audit_dead_letters (entry_id, reason, attempts) values ($1, 'not_canonical', 5)`,
    [id],
  );
  const dead = await partitions('detach', month);
  t.is(dead.code, 1);
  t.regex(dead.stderr, /dead-letter queue/);
  await sql('delete from audit_dead_letters');
  t.is((await partitions('detach', month)).code, 0);
});

test.serial('arguments that are wrong are refused with the exit code 2', async (t) => {
  const { partitions } = await startAwayVault(t);
  const present = beginOf(0).toISOString().slice(0, 7);
  for (const args of [
    [],
    ['drop', '2026-01'],
    ['detach'],
    ['detach', '2026-13'],
    ['detach', '2026-1'],
    ['detach', '2026-01; drop table audit_log'],
    ['detach', present],
    ['attach', beginOf(1).toISOString().slice(0, 7)],
    ['list', '2026-01'],
    ['detach', '2026-01', '2026-02'],
    ['detach', '2026-01', '--force'],
  ]) {
    const { code, stdout, stderr } = await partitions(...args);
    t.deepEqual([code, stdout], [2, ''], args.join(' '));
    t.regex(stderr, /^[^\n]+\nsee: probatio partitions --help\n$/, args.join(' '));
  }
  const never = await partitions('detach', '2001-01');
  t.is(never.code, 1);
  t.regex(never.stderr, /^the log has no partitions of 2001-01\n$/);
});

test.serial(
  'detach waits for the lock of a dump, and no request waits for it meanwhile',
  async (t) => {
    const context = await startAwayVault(t);
    const { vault, partitions, month, append, newOwner } = context;
    const old = await append(newOwner(), { type: 'upload', id: randomUUID() }, true);
    await append(newOwner(), { type: 'upload', id: randomUUID() }, false);
    await context.sealed();
    const auditor = await createApi(vault, { roles: ['auditor'] });
    const dump = await connectAs(vault.databases.admin);
    t.teardown(() => dump.end());
    await dump.query('begin; lock table audit_log in access share mode');
    const leaving = partitions('detach', month);
    const isAsked = `select 1 from pg_locks
    where relation = 'audit_log'::regclass and mode = 'AccessExclusiveLock' and not granted`;
    const watch = await connectAs(vault.databases.admin);
    t.teardown(() => watch.end());
    for (let tries = 0; tries < 2; tries += 1) {
      while ((await watch.query(isAsked)).rowCount === 0);
      while ((await watch.query(isAsked)).rowCount !== 0);
      // The lock was not to be had, and was given up.
      t.is((await auditor.send('GET', `/v1/audit/proof/${old}`)).status, 200);
    }
    await dump.query('rollback');
    const { code, stderr } = await leaving;
    t.is(code, 0, stderr);
    t.is((await auditor.send('GET', `/v1/audit/proof/${old}`)).status, 410);
  },
);
