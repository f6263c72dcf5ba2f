import { randomUUID } from 'node:crypto';
import { rename } from 'node:fs/promises';
import path from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { createObjectStore } from '../../app/storage/create-store.ts';
import type { ObjectStore } from '../../app/storage/interface/object-store.ts';
import { assertError } from '../support/http/error-body.ts';
import { pauseAt, untilWaiting } from '../support/accounts/paused-statement.ts';
import { certify, createDocument, storeDocument } from '../support/documents/documents.ts';
import { createApi } from '../support/documents/uploads.ts';
import { bytesOf, complete, openSession, putPart, upload } from '../support/documents/files.ts';
import { listStore } from '../uploads/cleanup/listed-store.ts';
import { nothing, storeUnknown } from './garbage.ts';
import {
  entriesOf,
  startMaintenanceVault,
  type MaintenanceVault,
} from '../support/vault/maintenance-vault.ts';

const test = anyTest as TestFn<MaintenanceVault & { store: ObjectStore }>;

test.before(async (t) => {
  const vault = await startMaintenanceVault({ MAINTENANCE_GARBAGE_GRACE_HOURS: '0' });
  t.context = { ...vault, store: await createObjectStore(vault.vault.config.storage) };
});
test.beforeEach(async (t) => {
  await t.context.counts('collect-garbage');
  await t.context.untilDone();
});
test.after.always(async (t) => {
  await t.context.store.close();
  await t.context.stop();
});

test.serial('stored files without a row are removed, and nothing else', async (t) => {
  const { vault, sql, store, counts, untilDone } = t.context;
  const api = await createApi(vault);
  const open = await openSession(t, api, 9);
  await putPart(api, open, 1, bytesOf(9));
  await upload(t, api, bytesOf(9));
  await storeDocument(t, api);
  const { id } = await storeDocument(t, api);
  t.is((await certify(api, id)).status, 200);
  const { fileKey } = await upload(t, api, bytesOf(8));
  const versioned = await api.send('POST', `/v1/documents/${id}/versions`, {
    json: { storagePath: fileKey },
  });
  t.is(versioned.status, 201, JSON.stringify(versioned.body));
  // A version alone, without its upload session, keeps the file.
  await sql('delete from upload_sessions where storage_key = $1', [fileKey]);
  const before = await listStore(store);
  t.is(before.objects.length, 4);
  t.is(before.uploads.length, 1);

  for (let number = 0; number < 3; number += 1) await storeUnknown(store, {});
  for (let number = 0; number < 2; number += 1) await storeUnknown(store, { completed: true });
  const found = { ...nothing, abortedUploads: 3, deletedObjects: 2 };
  t.deepEqual(await counts('collect-garbage', '?dryRun=true'), found);
  await untilDone();
  t.is((await listStore(store)).objects.length, 6);
  t.deepEqual(await counts('collect-garbage'), found);
  await untilDone();
  t.deepEqual(await listStore(store), before);
  t.deepEqual(await counts('collect-garbage'), nothing);
  t.is((await complete(api, open)).status, 200);
  const entries = await entriesOf(sql, { action: 'maintenance.ran' });
  t.deepEqual(
    entries.slice(-2).map(({ data }) => data),
    [
      { task: 'collect-garbage', abortedUploads: 3 },
      { task: 'collect-garbage', deletedObjects: 2 },
    ],
  );
});

test.serial('objects with foreign names are not removed', async (t) => {
  const { store, counts } = t.context;
  for (const key of ['backup.tar', 'a/b', `${randomUUID()}/a/b`, `x${randomUUID()}/a`]) {
    await storeUnknown(store, { key, completed: true });
    await storeUnknown(store, { key: `${key}.open` });
  }
  t.deepEqual(await counts('collect-garbage'), nothing);
});

test.serial('a second upload under a session’s key is removed, the session’s kept', async (t) => {
  const { vault, sql, store, counts, untilDone } = t.context;
  const api = await createApi(vault);
  const sessionId = await openSession(t, api, 9);
  await putPart(api, sessionId, 1, bytesOf(9));
  const [row] = await sql('select storage_key from upload_sessions where id = $1', [sessionId]);
  const orphan = await storeUnknown(store, { key: String(row?.['storage_key']) });
  t.deepEqual(await counts('collect-garbage'), { ...nothing, abortedUploads: 1 });
  await untilDone();
  t.false((await listStore(store)).uploads.includes(orphan.uploadId));
  t.is((await complete(api, sessionId)).status, 200);
});

test.serial('files of ended upload sessions are removed, however they ended', async (t) => {
  const { vault, sql, store, counts, untilDone } = t.context;
  const api = await createApi(vault);
  const late = [];
  for (const status of ['EXPIRED', 'ABORTED']) {
    const { sessionId, fileKey } = await upload(t, api, bytesOf(9));
    await sql('update upload_sessions set status = $2 where id = $1', [sessionId, status]);
    const [row] = await sql('select storage_upload_id as id from upload_sessions where id = $1', [
      await openSession(t, api, 9),
    ]);
    await sql('update upload_sessions set status = $2 where storage_upload_id = $1', [
      row?.['id'],
      status,
    ]);
    late.push(fileKey);
  }
  t.deepEqual(await counts('collect-garbage'), {
    ...nothing,
    abortedUploads: 2,
    deletedObjects: 2,
  });
  await untilDone();
  const { objects } = await listStore(store);
  for (const key of late) t.false(objects.includes(key));
});

test.serial('an object whose completion or document is just being recorded is kept', async (t) => {
  const { vault, sql, counts } = t.context;
  const api = await createApi(vault);
  const { sessionId, fileKey } = await upload(t, api, bytesOf(9));
  // Recreates the moment when the store has published the object and its row does not say so yet.
  await sql(
    `update upload_sessions set status = 'IN_PROGRESS', completed_at = null, object_version = null
     where id = $1`,
    [sessionId],
  );
  t.deepEqual(await counts('collect-garbage'), nothing);
  t.is((await complete(api, sessionId)).status, 200);
  const paused = await pauseAt(vault, 'insert on document_versions');
  const making = createDocument(api, fileKey);
  await untilWaiting(vault, 1);
  t.deepEqual(await counts('collect-garbage'), nothing);
  await paused.end();
  t.is((await making).status, 201);
});

test.serial('files whose removal is in the outbox already are not added again', async (t) => {
  const { sql, store, counts, untilDone } = t.context;
  const upload = await storeUnknown(store, {});
  const object = await storeUnknown(store, { completed: true });
  await sql(
    `insert into outbox (id, kind, payload, available_at) values
     (gen_random_uuid(), 'multipart.abort', $1, now() + interval '1 hour'),
     (gen_random_uuid(), 'object.delete', $2, now() + interval '1 hour')`,
    [JSON.stringify(upload), JSON.stringify({ key: object.key, version: 'a' })],
  );
  t.deepEqual(await counts('collect-garbage'), nothing);
  await sql('update outbox set available_at = now()');
  await untilDone();
  const { uploads, objects } = await listStore(store);
  t.false(uploads.includes(upload.uploadId) || objects.includes(object.key));
});

test.serial('garbage of more than one page is collected page by page', async (t) => {
  const { store, counts, untilDone } = t.context;
  const before = await listStore(store);
  await Promise.all(Array.from({ length: 230 }, () => storeUnknown(store, {})));
  t.deepEqual(await counts('collect-garbage'), { ...nothing, abortedUploads: 230 });
  await untilDone();
  t.deepEqual(await listStore(store), before);
});

test.serial('expired rows are removed, and younger ones are not', async (t) => {
  const { sql, counts } = t.context;
  await sql('truncate idempotency_keys, known_addresses, login_sessions cascade');
  await sql(
    `insert into idempotency_keys
     (user_id, key_hash, tenant_id, request_hash, claim_id, claimed_until, created_at)
     select gen_random_uuid(), n, 'default', '', gen_random_uuid(), now(),
       now() - hours * interval '1 hour'
     from generate_series(1, 1100) n, unnest(array[23, 24]) hours`,
  );
  await sql(
    `insert into known_addresses
     select gen_random_uuid(), n, now() - days * interval '1 day'
     from generate_series(1, 2) n, unnest(array[1, 30, 31]) days`,
  );
  await sql(
    `insert into login_sessions (id, user_id, tenant_id, last_used_at, expires_at)
     select gen_random_uuid(), gen_random_uuid(), 'default', now(), now() + days * interval '1 day'
     from unnest(array[-90, -31, -29, 30]) days`,
  );
  await sql(
    `insert into login_sessions (id, user_id, tenant_id, last_used_at, expires_at)
     select gen_random_uuid(), gen_random_uuid(), 'default', now(), now() - interval '40 days'
     from generate_series(1, 1250)`,
  );
  await sql(
    `insert into sync_requests (user_id, request_id, tenant_id, digest, answer, expires_at)
     select gen_random_uuid(), gen_random_uuid(), 'default', '', '{}',
       now() + hours * interval '1 hour'
     from generate_series(1, 1100) n, unnest(array[-1, 1]) hours`,
  );
  await sql(
    `insert into sync_history (id, user_id, tenant_id, object_id, version, status, device_id,
       changed_at, undo, recorded_at, expires_at)
     select gen_random_uuid(), gen_random_uuid(), 'default', gen_random_uuid(), 2, 'APPLIED',
       gen_random_uuid(), now(), '{}', now() - days * interval '1 day',
       now() + (8 - days) * interval '1 day'
     from generate_series(1, 1100) n, unnest(array[7, 9]) days`,
  );
  await sql(
    `insert into sync_history (id, user_id, tenant_id, object_id, version, status, device_id,
       changed_at, undo, recorded_at)
     select gen_random_uuid(), gen_random_uuid(), 'default', gen_random_uuid(), 2, 'APPLIED',
       gen_random_uuid(), now(), '{}', now() - days * interval '1 day'
     from generate_series(1, 1100) n, unnest(array[7, 9]) days`,
  );
  await sql(
    `insert into session_devices (id, user_id, tenant_id, issuer, sid, device_id, created_at)
     select gen_random_uuid(), gen_random_uuid(), 'default', '', n, gen_random_uuid(),
       now() - days * interval '1 day'
     from generate_series(1, 1100) n, unnest(array[399, 400]) days`,
  );
  await sql(
    `insert into replaced_keys (id, user_id, tenant_id, kind, version, key_generation, wrapped_key,
       replaced_at)
     select gen_random_uuid(), gen_random_uuid(), 'default', 'MASTER', 1, 1, '',
       now() - days * interval '1 day'
     from generate_series(1, 1100) n, unnest(array[29, 30]) days`,
  );
  const found = {
    ...nothing,
    removedIdempotencyKeys: 1100,
    removedSyncRequests: 1100,
    removedSyncHistory: 1100,
    forgottenSyncUndos: 1100,
    removedAddresses: 2,
    removedLoginSessions: 1252,
    removedSessionDevices: 1100,
    removedReplacedKeys: 1100,
  };
  t.deepEqual(await counts('collect-garbage', '?dryRun=true'), found);
  t.deepEqual(await counts('collect-garbage'), found);
  t.deepEqual(await counts('collect-garbage'), nothing);
  const [left] = await sql(
    `select (select count(*)::int from idempotency_keys) as keys,
       (select count(*)::int from known_addresses) as addresses,
       (select count(*)::int from login_sessions) as sessions,
       (select count(*)::int from session_devices) as bindings,
       (select count(*)::int from replaced_keys) as replaced`,
  );
  t.deepEqual(left, { keys: 1100, addresses: 4, sessions: 2, bindings: 1100, replaced: 1100 });
});

test.serial('while the store is down files wait, but rows are removed', async (t) => {
  const { vault, sql, store, run, counts, untilDone } = t.context;
  const { uploadId } = await storeUnknown(store, {});
  await sql('truncate known_addresses');
  await sql(
    `insert into known_addresses values (gen_random_uuid(), 'a', now() - interval '1 year')`,
  );
  const uploads = path.join(vault.storeDirectory, 'uploads');
  await rename(uploads, `${uploads}-away`);
  assertError(t, await run('collect-garbage'), { status: 503, code: 'storage_unavailable' });
  t.deepEqual(await sql('select 1 from known_addresses'), []);
  await rename(`${uploads}-away`, uploads);
  t.like(await counts('collect-garbage'), { abortedUploads: 1 });
  await untilDone();
  t.false((await listStore(store)).uploads.includes(uploadId));
});
