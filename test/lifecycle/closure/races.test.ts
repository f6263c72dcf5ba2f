import { randomBytes } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { certify, createDocument, storeDocument } from '../../support/documents/documents.ts';
import type { Answer } from '../../support/documents/uploads.ts';
import {
  abort,
  bytesOf,
  complete,
  fileOf,
  openSession,
  putPart,
  upload,
} from '../../support/documents/files.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { hasObject } from '../../support/documents/stored-files.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import {
  close,
  createEnvelope,
  createMember,
  prepareToClose,
  rowsOf,
  sweepNow,
} from '../../support/accounts/closing.ts';
import { pauseAt, untilWaiting } from '../../support/accounts/paused-statement.ts';

const test = anyTest as TestFn<{ vault: TestVault; sql: Sql }>;

test.before(async (t) => {
  const vault = await startReadyVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

const rounds = 5;

test.serial('concurrent requests leave only complete, sealed documents behind', async (t) => {
  const { vault, sql } = t.context;
  for (let round = 0; round < rounds; round += 1) {
    const member = await createMember(vault);
    const { api, userId } = member;
    const toCertify = [await storeDocument(t, api), await storeDocument(t, api)];
    const toRemove = [await storeDocument(t, api), await storeDocument(t, api)];
    const toCreate = [await upload(t, api, bytesOf(10)), await upload(t, api, bytesOf(10))];
    const toSend = await openSession(t, api, 10);
    const toComplete = await openSession(t, api, 10);
    await putPart(api, toComplete, 1, bytesOf(10));
    const toAbort = await openSession(t, api, 10);

    const envelope = { encryptedEnvelope: randomBytes(40).toString('base64') };
    const closeAccount = await prepareToClose(vault, member);
    const others: (() => Promise<Answer>)[] = [
      ...toCertify.map(
        ({ id }) =>
          () =>
            certify(api, id),
      ),
      ...toRemove.map(
        ({ id }) =>
          () =>
            api.send('DELETE', `/v1/documents/${id}`),
      ),
      ...toCreate.map(
        ({ fileKey }) =>
          () =>
            createDocument(api, fileKey),
      ),
      () => putPart(api, toSend, 1, bytesOf(10)),
      () => complete(api, toComplete),
      () => abort(api, toAbort),
      () => api.send('POST', '/v1/uploads', { json: fileOf(10) }),
      () => api.send('POST', '/v1/crypto/keys/master-envelope', { json: envelope }),
    ];
    const early = others.slice(0, round * 3).map((ask) => ask());
    const closing = closeAccount();
    const late = others.slice(round * 3).map((ask) => ask());
    const answers = await Promise.all([...early, ...late]);
    const closed = await closing;
    t.is(closed.status, 204, closed.text);
    for (const { status, body } of answers) t.true(status < 500, JSON.stringify(body));

    t.is((await rowsOf(vault, userId)).unsealed, undefined);
    await sweepNow(vault);
    await sweepNow(vault);
    const { sealed = 0, uploads = 0, parts = 0, ...rest } = await rowsOf(vault, userId);
    t.deepEqual(rest, {});
    t.deepEqual([uploads, parts], [sealed, sealed]);
    const kept = await sql(
      `select v.storage_key as key from document_versions v
       join upload_sessions using (storage_key) where v.user_id = $1`,
      [userId],
    );
    t.is(kept.length, sealed);
    await until(async () => (await sql('select 1 from outbox')).length === 0, {
      what: 'the outbox to be empty',
      timeoutMs: 60_000,
    });
    for (const { key } of kept) t.true(await hasObject(vault, String(key)));
  }
});

test.serial(
  'a document that is being created while its owner’s account is closed is deleted',
  async (t) => {
    const { vault } = t.context;
    const member = await createMember(vault);
    const { fileKey } = await upload(t, member.api, bytesOf(10));
    const closeAccount = await prepareToClose(vault, member);
    const pause = await pauseAt(vault, 'insert on document_versions');
    const creating = createDocument(member.api, fileKey);
    await untilWaiting(vault, 1);
    const closing = closeAccount();
    await untilWaiting(vault, 2);
    await pause.end();

    t.is((await creating).status, 201);
    t.is((await closing).status, 204);
    t.deepEqual(await rowsOf(vault, member.userId), {});
    await until(async () => !(await hasObject(vault, fileKey)), {
      what: 'the object to be deleted',
      timeoutMs: 60_000,
    });
  },
);

test.serial(
  'a document that is being sealed while its owner’s account is closed is kept',
  async (t) => {
    const { vault, sql } = t.context;
    const member = await createMember(vault);
    const { id, fileKey } = await storeDocument(t, member.api);
    const closeAccount = await prepareToClose(vault, member);
    const pause = await pauseAt(vault, 'update on documents');
    const sealing = certify(member.api, id);
    await untilWaiting(vault, 1);
    const closing = closeAccount();
    await untilWaiting(vault, 2);
    await pause.end();

    t.is((await sealing).status, 200);
    t.is((await closing).status, 204);
    t.deepEqual(await rowsOf(vault, member.userId), { sealed: 1, uploads: 1, parts: 1 });
    await until(
      async () => (await sql(`select 1 from outbox where kind = 'object.delete'`)).length === 0,
      {
        what: 'every deletion to be done',
        timeoutMs: 60_000,
      },
    );
    t.true(await hasObject(vault, fileKey));
  },
);

test.serial('rows added after a closure by an earlier request are swept away', async (t) => {
  const { vault, sql } = t.context;
  const member = await createMember(vault);
  const { api, userId } = member;
  t.is((await close(vault, member)).status, 204);
  t.deepEqual(await rowsOf(vault, userId), {});
  const isPromised = async () =>
    (await sql(`select 1 from outbox where kind = 'account.sweep'`)).length === 1;

  const late = await openSession(t, api, 10);
  await putPart(api, late, 1, bytesOf(10));
  await upload(t, api, bytesOf(10));
  await createEnvelope(t, api);
  await sql(
    `insert into login_sessions (id, user_id, tenant_id, last_used_at, expires_at)
     values (gen_random_uuid(), $1, 'default', now(), now() + interval '1 hour')`,
    [userId],
  );
  await sweepNow(vault);
  t.deepEqual(await rowsOf(vault, userId), {});
  t.is((await abort(api, late)).status, 404);
  t.true(await isPromised(), 'a sweep that found rows repeats');
  const swept = await sql(
    `select canonical::json -> 'data' as data from audit_entries
     where user_id = $1 and action = 'account.swept'`,
    [userId],
  );
  t.deepEqual(swept, [
    {
      data: {
        sessions: 1,
        documents: 0,
        uploads: 2,
        shares: 0,
        sharingKeys: 0,
        syncObjects: 0,
        envelopes: 1,
        devices: 0,
      },
    },
  ]);
  await sweepNow(vault);
  t.false(await isPromised(), 'a sweep that finds nothing ends');
});

test.serial('a sweep leaves open accounts untouched', async (t) => {
  const { vault } = t.context;
  const { api, userId } = await createMember(vault);
  await storeDocument(t, api);
  await openSession(t, api, 10);
  await createEnvelope(t, api);
  const before = await rowsOf(vault, userId);
  await vault.services.closure.sweep({ userId, tenantId: 'default' });
  t.deepEqual(await rowsOf(vault, userId), before);
});

test.serial('an account of a thousand documents is closed in one transaction', async (t) => {
  const { vault, sql } = t.context;
  const member = await createMember(vault);
  const count = 1000;
  await sql(
    `with added as (
      insert into upload_sessions (id, user_id, tenant_id, file_name, file_size, mime_type,
        total_parts, storage_key, storage_upload_id, status, expires_at, object_version)
      select gen_random_uuid(), $1, 'default', 'f', 1, 'application/octet-stream', 1,
        gen_random_uuid() || '/f', 'u' || n, 'COMPLETED', now(), 'v' from generate_series(1, $2) n
      returning *
    ), documents as (
      insert into documents (id, user_id, tenant_id, place) select id, $1, 'default', id from added
    )
    insert into document_versions (document_id, version, user_id, tenant_id, storage_key,
      object_version, file_size, file_hash, encrypted_metadata)
    select id, 1, $1, 'default', storage_key, 'v', 1, storage_key, '' from added`,
    [member.userId, count],
  );
  await sql(`
    create table deletions as select created_at from outbox limit 0;
    create function note_deletion() returns trigger language plpgsql security definer as
    $$ begin insert into deletions values (new.created_at); return new; end $$;
    create trigger noted after insert on outbox for each row
    when (new.kind = 'object.delete') execute function note_deletion()`);
  const startedAt = performance.now();
  t.is((await close(vault, member)).status, 204);
  t.log(`${Math.round(performance.now() - startedAt)} ms`);
  t.deepEqual(await rowsOf(vault, member.userId), {});
  const [noted] = await sql(
    `select count(*)::int as objects, count(distinct created_at)::int as transactions
     from deletions`,
  );
  t.deepEqual(noted, { objects: count, transactions: 1 });
});
