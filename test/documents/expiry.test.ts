import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { connectAs } from '../support/accounts/two-tenants.ts';
import { createApi } from '../support/documents/uploads.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { hasObject } from '../support/documents/stored-files.ts';
import { startVault, type TestVault } from '../support/vault/vault.ts';
import {
  certify,
  etagOf,
  getDocument,
  listVersions,
  removeDocument,
  storeDocument,
  storeVersion,
} from '../support/documents/documents.ts';
import { actionsOn, ageDocument, insertDocuments } from '../support/documents/rows.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault; readonly sql: Sql }>;

test.beforeEach(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.afterEach.always((t) => t.context.vault.stop());

test.serial('only versions left unsealed for thirty days expire', async (t) => {
  const { sql, vault } = t.context;
  const { documentExpiry } = vault.services;
  const api = await createApi(vault);
  const [old, recent, sealed] = [
    await storeDocument(t, api),
    await storeDocument(t, api),
    await storeDocument(t, api),
  ];
  await certify(api, sealed.id);
  await ageDocument(sql, old.id, '30 days 1 minute');
  await ageDocument(sql, recent.id, '29 days 23 hours');
  await ageDocument(sql, sealed.id, '60 days');
  const etag = await etagOf(api, old.id);

  t.deepEqual(await documentExpiry.expire({ dryRun: true }), { expired: 1 });
  t.is((await getDocument(api, old.id)).body.status, 'PENDING');
  t.deepEqual(await documentExpiry.expire({ dryRun: false }), { expired: 1 });
  t.deepEqual(await documentExpiry.expire({ dryRun: false }), { expired: 0 });

  t.is((await getDocument(api, old.id)).body.status, 'EXPIRED');
  t.not(await etagOf(api, old.id), etag);
  t.is((await getDocument(api, recent.id)).body.status, 'PENDING');
  t.is((await getDocument(api, sealed.id)).body.status, 'SEALED');
  t.deepEqual(await actionsOn(sql, old.id), ['document.created', 'document.expired']);
  const [entry] = await sql(
    `select canonical::json as entry from audit_entries where action = 'document.expired'`,
  );
  t.like(entry?.['entry'], {
    actor: { type: 'system', id: null },
    tenant: api.caller.tenantId,
    resource: { type: 'document', id: old.id, owner: api.caller.userId },
    requestId: null,
    data: { version: 1, fileHash: old.fileHash },
  });
  t.is((await certify(api, old.id)).body.code, 'document_expired');
  t.true(await hasObject(vault, old.fileKey), 'an expired file stays until its owner deletes it');
  t.is((await removeDocument(api, old.id)).status, 204);
});

test.serial('each version of a document expires at its own time', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  await certify(api, id);
  await storeVersion(t, api, id);
  await storeVersion(t, api, id);
  await ageDocument(sql, id, '31 days');
  await storeVersion(t, api, id);
  t.deepEqual(await vault.services.documentExpiry.expire({ dryRun: false }), { expired: 2 });
  t.deepEqual(
    (await listVersions(api, id)).map(({ status }) => status),
    ['PENDING', 'EXPIRED', 'EXPIRED', 'SEALED'],
  );
  t.is((await certify(api, id)).status, 200);
});

test.serial('concurrent runs expire every document exactly once', async (t) => {
  const { sql, vault } = t.context;
  const { documentExpiry } = vault.services;
  const owners = Array.from({ length: 3 }, () => ({ userId: randomUUID(), tenantId: 'default' }));
  const ids: string[] = [];
  for (const owner of owners) ids.push(...(await insertDocuments(sql, owner, 150, '31 days')));
  t.deepEqual(await documentExpiry.expire({ dryRun: true }), { expired: 450 });
  const runs = await Promise.all(
    Array.from({ length: 3 }, () => documentExpiry.expire({ dryRun: false })),
  );
  t.is(
    runs.reduce((sum, { expired }) => sum + expired, 0),
    450,
  );
  const [count] = await sql(
    `select count(*)::int as entries, count(distinct resource_id)::int as documents
     from audit_entries where action = 'document.expired'`,
  );
  t.deepEqual(count, { entries: 450, documents: 450 });
  const states = await sql('select distinct status from document_versions');
  t.deepEqual(states, [{ status: 'EXPIRED' }]);
});

test.serial('a batch expires 200 versions, however many a document has', async (t) => {
  // Without a signer, no seal changes the entries.
  const vault = await startVault({ SIGNER_SOCKET_PATH: join(tmpdir(), 'no-signer.sock') });
  t.teardown(() => vault.stop());
  const sql = createSql(vault);
  const owner = { userId: randomUUID(), tenantId: 'default' };
  const [id = ''] = await insertDocuments(sql, owner, 1, '31 days');
  await sql(
    `insert into document_versions (document_id, version, user_id, tenant_id, storage_key,
       object_version, file_size, file_hash, encrypted_metadata, created_at)
     select document_id, n, user_id, tenant_id, document_id || '/' || n, 'v', 1,
       encode(sha256(n::text::bytea), 'hex'), encrypted_metadata, created_at
     from document_versions, generate_series(2, 450) n`,
  );
  t.deepEqual(await vault.services.documentExpiry.expire({ dryRun: false }), { expired: 450 });
  const batches = await sql(
    `select count(*)::int as entries from audit_log where action = 'document.expired'
     group by xmin::text order by entries`,
  );
  t.deepEqual(batches, [{ entries: 50 }, { entries: 200 }, { entries: 200 }]);
  t.deepEqual(await actionsOn(sql, id), Array(450).fill('document.expired'));
});

test.serial('a document locked by another transaction is skipped and expires later', async (t) => {
  const { sql, vault } = t.context;
  const { documentExpiry } = vault.services;
  const owner = { userId: randomUUID(), tenantId: 'default' };
  const [busy = ''] = await insertDocuments(sql, owner, 1, '40 days');
  await insertDocuments(sql, owner, 4, '31 days');
  const client = await connectAs(vault.databases.admin);
  await client.query('begin');
  await client.query('select 1 from documents where id = $1 for update', [busy]);
  t.deepEqual(await documentExpiry.expire({ dryRun: false }), { expired: 4 });
  await client.query('rollback');
  await client.end();
  t.deepEqual(await documentExpiry.expire({ dryRun: false }), { expired: 1 });
});

test.serial('concurrent certification and expiry leave a document sealed or expired', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  for (let round = 0; round < 10; round += 1) {
    const { id } = await storeDocument(t, api);
    await ageDocument(sql, id, '31 days');
    const [certified] = await Promise.all([
      certify(api, id),
      vault.services.documentExpiry.expire({ dryRun: false }),
    ]);
    const { status } = (await getDocument(api, id)).body;
    t.is(certified.status, status === 'SEALED' ? 200 : 409, String(status));
    if (status !== 'SEALED') t.is(certified.body.code, 'document_expired');
    const [, end, ...more] = await actionsOn(sql, id);
    t.is(end, status === 'SEALED' ? 'document.sealed' : 'document.expired');
    t.deepEqual(more, []);
  }
});

test.serial('an expiry whose audit entry cannot be written is rolled back', async (t) => {
  const { sql, vault } = t.context;
  const owner = { userId: randomUUID(), tenantId: 'default' };
  await insertDocuments(sql, owner, 3, '31 days');
  await sql(`
    create function break_expiry() returns trigger language plpgsql as
    $$ begin raise 'broken'; end $$;
    create trigger broken before insert on audit_log for each row
    when (new.action = 'document.expired') execute function break_expiry()`);
  await t.throwsAsync(vault.services.documentExpiry.expire({ dryRun: false }));
  t.deepEqual(await sql('select distinct status from document_versions'), [{ status: 'PENDING' }]);
  // Dropped alone, the trigger would lock the partitions before the table, unlike everybody else.
  await sql('lock table audit_log; drop trigger broken on audit_log');
  t.deepEqual(await vault.services.documentExpiry.expire({ dryRun: false }), { expired: 3 });
});

test.serial('DOCUMENTS_PENDING_DAYS sets how long a version may stay unsealed', async (t) => {
  const { sql, vault } = t.context;
  const week = await startVault({ DOCUMENTS_PENDING_DAYS: '7' });
  t.teardown(() => week.stop());
  const owner = { userId: randomUUID(), tenantId: 'default' };
  await insertDocuments(createSql(week), owner, 2, '8 days');
  await insertDocuments(createSql(week), owner, 3, '6 days');
  t.deepEqual(await week.services.documentExpiry.expire({ dryRun: false }), { expired: 2 });
  await insertDocuments(sql, owner, 2, '8 days');
  t.deepEqual(await vault.services.documentExpiry.expire({ dryRun: false }), { expired: 0 });
});

test.serial('the query for overdue versions uses its index', async (t) => {
  const { sql, vault } = t.context;
  const owner = { userId: randomUUID(), tenantId: 'default' };
  await insertDocuments(sql, owner, 5000, '1 day');
  await insertDocuments(sql, owner, 3, '31 days');
  await sql('analyze documents, document_versions');
  const scans = async () => {
    const [row] = await sql(
      `select idx_scan from pg_stat_user_indexes where indexrelname = 'document_versions_pending'`,
    );
    return Number(row?.['idx_scan']);
  };
  const before = await scans();
  t.deepEqual(await vault.services.documentExpiry.expire({ dryRun: false }), { expired: 3 });
  await until(async () => (await scans()) > before, { what: 'the scan', timeoutMs: 60_000 });
});
