import anyTest, { type TestFn } from 'ava';
import { openDatabase } from '../../../app/db/database.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { createObjectStore } from '../../../app/storage/create-store.ts';
import { findUnused, removeUnused } from '../../../app/uploads/cleanup/unused-uploads.ts';
import { pauseAt, untilWaiting } from '../../support/accounts/paused-statement.ts';
import { connectAs } from '../../support/accounts/two-tenants.ts';
import { certify, createDocument, storeDocument } from '../../support/documents/documents.ts';
import { untilHashed } from '../../support/documents/rows.ts';
import {
  entriesOf,
  startMaintenanceVault,
  type MaintenanceVault,
} from '../../support/vault/maintenance-vault.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import {
  abort,
  bytesOf,
  complete,
  openSession,
  progress,
  putPart,
  upload,
} from '../../support/documents/files.ts';
import { listStore } from './listed-store.ts';
import { hasObject } from '../../support/documents/stored-files.ts';

const test = anyTest as TestFn<MaintenanceVault>;

test.before(async (t) => {
  t.context = await startMaintenanceVault();
});
test.beforeEach((t) => t.context.untilDone());
test.after.always((t) => t.context.stop());

const nothing = { expiredSessions: 0, removedFiles: 0, removedSessions: 0 };

/** Makes the open upload sessions of a user expire now. */
const end = ({ sql }: MaintenanceVault, { caller }: Api) =>
  sql('update upload_sessions set expires_at = now() where user_id = $1', [caller.userId]);

/** Sets the age of a user's completed uploads. */
const age = ({ sql }: MaintenanceVault, { caller }: Api, interval: string) =>
  sql(
    `update upload_sessions set completed_at = now() - $2::interval
     where user_id = $1 and status = 'COMPLETED'`,
    [caller.userId, interval],
  );

const statesOf = async ({ sql }: MaintenanceVault, { caller }: Api) =>
  (
    await sql('select status from upload_sessions where user_id = $1 order by id', [caller.userId])
  ).map(({ status }) => status);

test.serial('an overdue upload session expires with its parts and leaves an entry', async (t) => {
  const { vault, sql, counts, untilDone } = t.context;
  const [api, other] = [await createApi(vault), await createApi(vault)];
  const sessionId = await openSession(t, api, 7);
  await putPart(api, sessionId, 1, bytesOf(7));
  const living = await openSession(t, other, 3);
  await end(t.context, api);

  t.deepEqual(await counts('expire-uploads'), { ...nothing, expiredSessions: 1 });
  await untilDone();
  const [row] = await sql('select storage_upload_id as id from upload_sessions where id = $1', [
    living,
  ]);
  const store = await createObjectStore(vault.config.storage);
  t.deepEqual((await listStore(store)).uploads, [row?.['id']]);
  await store.close();
  t.deepEqual(await statesOf(t.context, api), ['EXPIRED']);
  t.deepEqual(await statesOf(t.context, other), ['IN_PROGRESS']);
  const entries = await entriesOf(sql, { resource: sessionId });
  t.deepEqual(
    entries.map(({ action, seq }) => `${String(seq)} ${action}`),
    ['1 upload.created', '2 upload.expired'],
  );
  t.like(entries[1], {
    owner: api.caller.userId,
    actor: { type: 'system', id: 'test-admin' },
    data: { fileSize: 7, wasCompleted: false },
  });
  t.deepEqual(await counts('expire-uploads'), nothing);
});

test.serial('an expired upload session responds as an overdue one does', async (t) => {
  const { vault, counts } = t.context;
  const api = await createApi(vault);
  const sessionId = await openSession(t, api, 3);
  await end(t.context, api);
  const ask = async () => [
    await putPart(api, sessionId, 1, bytesOf(3)),
    await complete(api, sessionId),
    await progress(api, sessionId),
  ];
  const before = await ask();
  t.deepEqual(await counts('expire-uploads'), { ...nothing, expiredSessions: 1 });
  const after = await ask();
  for (const answer of [...before, ...after]) {
    t.is(`${answer.status} ${String(answer.body.code)}`, '410 session_expired');
  }
  const aborted = await abort(api, sessionId);
  t.is(aborted.status, 200);
  t.like(aborted.body, { sessionId, status: 'ABORTED' });
  t.deepEqual((await abort(api, sessionId)).body, aborted.body);
});

test.serial('an upload session that another process expired early is expired here', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const sessionId = await openSession(t, api, 3);
  await sql("update upload_sessions set status = 'EXPIRED' where id = $1", [sessionId]);
  for (const answer of [
    await putPart(api, sessionId, 1, bytesOf(3)),
    await complete(api, sessionId),
    await progress(api, sessionId),
  ]) {
    t.is(`${answer.status} ${String(answer.body.code)}`, '410 session_expired');
  }
});

test.serial('upload sessions that ended a week ago are removed with their parts', async (t) => {
  const { vault, sql, counts } = t.context;
  const api = await createApi(vault);
  const ids = [];
  for (const status of ['ABORTED', 'EXPIRED', 'ABORTED', 'EXPIRED']) {
    const sessionId = await openSession(t, api, 3);
    await putPart(api, sessionId, 1, bytesOf(3));
    if (status === 'ABORTED') await abort(api, sessionId);
    ids.push(sessionId);
  }
  await end(t.context, api);
  await counts('expire-uploads');
  const shift = (from: string[], days: string) =>
    sql(
      `update upload_sessions set aborted_at = aborted_at - $2::interval,
         expires_at = expires_at - $2::interval where id = any($1)`,
      [from, days],
    );
  await shift(ids.slice(0, 2), '7 days');
  await shift(ids.slice(2), '6 days 23 hours');
  const { fileKey } = await upload(t, api, bytesOf(3));
  await sql(
    "update upload_sessions set expires_at = now() - interval '1 year' where storage_key = $1",
    [fileKey],
  );
  t.deepEqual(await counts('expire-uploads'), { ...nothing, removedSessions: 2 });
  t.deepEqual(await statesOf(t.context, api), ['ABORTED', 'EXPIRED', 'COMPLETED']);
  const parts = await sql('select session_id from upload_parts where session_id = any($1)', [ids]);
  t.deepEqual(parts.map(({ session_id }) => String(session_id)).sort(), ids.slice(2).sort());
});

test.serial('an upload without a document is removed with its object after a day', async (t) => {
  const { vault, sql, counts, untilDone } = t.context;
  const api = await createApi(vault);
  const unused = await upload(t, api, bytesOf(5));
  const pending = await storeDocument(t, api);
  const sealed = await storeDocument(t, api);
  t.is((await certify(api, sealed.id)).status, 200);
  await age(t.context, api, '24 hours');
  const young = await upload(t, api, bytesOf(5));
  await sql(
    `update upload_sessions
      set completed_at = now() - interval '23 hours 59 minutes' where id = $1`,
    [young.sessionId],
  );

  t.is((await createDocument(api, unused.fileKey)).status, 400, 'older than 24 hours');
  t.deepEqual(await counts('expire-uploads'), { ...nothing, removedFiles: 1 });
  await untilDone();
  t.false(await hasObject(vault, unused.fileKey));
  for (const { fileKey } of [pending, sealed, young]) t.true(await hasObject(vault, fileKey));
  t.is((await createDocument(api, young.fileKey)).status, 201);
  const entries = await entriesOf(sql, { resource: unused.sessionId });
  t.deepEqual(
    entries.map(({ action, seq }) => `${String(seq)} ${action}`),
    ['1 upload.created', '2 upload.completed', '3 upload.expired'],
  );
  t.like(entries[2], { owner: api.caller.userId, data: { fileSize: 5, wasCompleted: true } });
  t.deepEqual(await counts('expire-uploads'), nothing);
});

test.serial('an upload is kept while a document is being created from it', async (t) => {
  const { vault, sql, counts } = t.context;
  const api = await createApi(vault);
  const { fileKey, sessionId } = await upload(t, api, bytesOf(5));
  await untilHashed(sql, sessionId);
  const paused = await pauseAt(vault, 'insert on document_versions');
  const holder = await connectAs(vault.databases.admin);
  await holder.query('begin');
  await holder.query('select 1 from upload_sessions where id = $1 for update', [sessionId]);
  const making = createDocument(api, fileKey);
  await untilWaiting(vault, 1);
  // The 24 hours end after the upload was found and before it is locked.
  await holder.query(
    `update upload_sessions
    set completed_at = now() - interval '24 hours 1 second' where id = $1`,
    [sessionId],
  );
  await holder.query('commit');
  await holder.end();
  const atInsert = `select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and wait_event = 'advisory'`;
  await until(async () => (await sql(atInsert)).length === 1, {
    what: 'the document to be inserted',
    timeoutMs: 60_000,
  });
  t.deepEqual(await counts('expire-uploads'), nothing);
  await paused.end();
  t.is((await making).status, 201);
  t.deepEqual(await counts('expire-uploads'), nothing);
  t.true(await hasObject(vault, fileKey));
});

test.serial('a document created before its unused upload is locked keeps the upload', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const kept = await upload(t, api, bytesOf(5));
  const gone = await upload(t, api, bytesOf(6));
  const { databases } = vault;
  const db = await openDatabase({
    url: databases.app,
    serviceUrl: databases.service,
    poolSize: 2,
  });
  t.teardown(() => db.close());
  const removed = await db.asService(async (tx) => {
    const { ids, next } = await findUnused(tx, new Date(), { after: undefined, limit: 1_000 });
    t.true(ids.includes(kept.sessionId) && ids.includes(gone.sessionId));
    t.is(next, undefined);
    t.is((await createDocument(api, kept.fileKey)).status, 201);
    return removeUnused(tx, ids);
  });
  const ids = new Set(removed.map(({ id }) => id));
  t.true(ids.has(gone.sessionId));
  t.false(ids.has(kept.sessionId));
});

test.serial('an upload session that is being completed does not expire', async (t) => {
  const { vault, sql, counts } = t.context;
  const api = await createApi(vault);
  await openSession(t, api, 3);
  await end(t.context, api);
  await sql(
    "update upload_sessions set completing_until = now() + interval '1 minute' where user_id = $1",
    [api.caller.userId],
  );
  t.deepEqual(await counts('expire-uploads'), nothing);
  await sql('update upload_sessions set completing_until = now() where user_id = $1', [
    api.caller.userId,
  ]);
  t.deepEqual(await counts('expire-uploads'), { ...nothing, expiredSessions: 1 });
});

test.serial('exactly one of a concurrent completion and expiry succeeds', async (t) => {
  const { vault, sql, counts, untilDone } = t.context;
  const api = await createApi(vault);
  const outcomes = new Set<string>();
  for (let round = 0; round < 20; round += 1) {
    const sessionId = await openSession(t, api, 10);
    await putPart(api, sessionId, 1, bytesOf(10));
    await sql(
      'update upload_sessions set expires_at = now() + make_interval(secs => $2) where id = $1',
      [sessionId, round / 500],
    );
    const [completed, first] = await Promise.all([
      complete(api, sessionId),
      counts('expire-uploads'),
    ]);
    const last = await counts('expire-uploads');
    const expiredSessions = Number(first['expiredSessions']) + Number(last['expiredSessions']);
    const [row] = await sql('select status, storage_key from upload_sessions where id = $1', [
      sessionId,
    ]);
    await untilDone();
    const isStored = await hasObject(vault, String(row?.['storage_key']));
    const actions = (await entriesOf(sql, { resource: sessionId })).map(({ action }) => action);
    const outcome = `${completed.status} ${String(row?.['status'])} ${String(isStored)}`;
    outcomes.add(outcome);
    if (completed.status === 200) {
      t.is(outcome, '200 COMPLETED true');
      t.is(expiredSessions, 0);
      t.deepEqual(actions, ['upload.created', 'upload.completed']);
    } else {
      t.is(outcome, '410 EXPIRED false');
      t.is(expiredSessions, 1);
      t.deepEqual(actions, ['upload.created', 'upload.expired']);
    }
  }
  t.log([...outcomes].join(', '));
});
