import { readdir } from 'node:fs/promises';
import path from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { startVault, type TestVault } from '../support/vault/vault.ts';
import { createApi } from '../support/documents/uploads.ts';
import { bytesOf, countStatuses, fileOf, upload } from '../support/documents/files.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { hasObject } from '../support/documents/stored-files.ts';
import {
  certify,
  createDocument,
  getDocument,
  listVersions,
  removeDocument,
  storeDocument,
  storeVersion,
} from '../support/documents/documents.ts';
import { proofHeader } from '../support/accounts/reauth-account.ts';
import { expireDocument } from '../support/documents/rows.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault; readonly sql: Sql }>;

test.before(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

const untilGone = (vault: TestVault, fileKey: string) =>
  until(async () => !(await hasObject(vault, fileKey)), {
    what: 'the object to go',
    timeoutMs: 60_000,
  });

test('deleting a document removes its object, frees its path and returns its quota', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const bytes = bytesOf(100);
  const { id, fileKey } = await storeDocument(t, api, bytes);
  await sql('update upload_sessions set file_size = $2 where user_id = $1', [
    api.caller.userId,
    50 * 2 ** 30,
  ]);
  t.is((await api.send('POST', '/v1/uploads', { json: fileOf(1) })).status, 429);
  t.true(await hasObject(vault, fileKey));

  t.is((await removeDocument(api, id)).status, 204);
  await untilGone(vault, fileKey);
  t.is((await api.send('GET', `/v1/documents/${id}`)).status, 404);
  t.is((await removeDocument(api, id)).status, 404);
  t.is((await createDocument(api, fileKey)).body.code, 'stored_file_not_found');
  t.is((await api.send('POST', '/v1/uploads', { json: fileOf(1) })).status, 201);
  await storeDocument(t, api, bytes);
  const scratch = path.join(vault.storeDirectory, 'scratch');
  await until(async () => (await readdir(scratch)).length === 0, {
    what: 'the deleted files to be freed',
    timeoutMs: 60_000,
  });
});

test('one of ten concurrent deletions succeeds, and one audit entry records it', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  const answers = await Promise.all(Array.from({ length: 10 }, () => removeDocument(api, id)));
  t.deepEqual(countStatuses(answers), { 204: 1, 404: 9 });
  const entries = await sql(
    'select action from audit_entries where resource_id = $1 order by seq',
    [id],
  );
  t.deepEqual(entries, [{ action: 'document.created' }, { action: 'document.deleted' }]);
});

test('exactly one of a concurrent deletion and certification succeeds', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  for (let round = 0; round < 10; round += 1) {
    const { id } = await storeDocument(t, api);
    const [certified, removed] = await Promise.all([certify(api, id), removeDocument(api, id)]);
    const { status, body } = await api.send('GET', `/v1/documents/${id}`);
    if (certified.status === 200) {
      t.is(removed.status, 403);
      t.is(body.status, 'SEALED');
    } else {
      // The file may disappear after the document's row was read and before its file is.
      t.true([404, 409].includes(certified.status), String(certified.status));
      t.is(removed.status, 204);
      t.is(status, 404);
    }
  }
});

test('an owner cannot delete a sealed document, but an admin can', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const { id, fileKey } = await storeDocument(t, api);
  const { proofId } = (await certify(api, id)).body;
  const { status, body } = await removeDocument(api, id);
  t.is(status, 403);
  t.is(body.code, 'document_sealed');
  t.is((await api.send('GET', `/v1/documents/${id}`)).body.status, 'SEALED');

  const admin = await createApi(vault, { roles: ['user', 'probatio_admin'] });
  const removed = await removeDocument(admin, id, await proofHeader(vault, admin.caller));
  t.is(removed.status, 204);
  await untilGone(vault, fileKey);
  const proof = await api.send('GET', `/v1/audit/proof/${String(proofId)}`);
  t.is(proof.status, 200);
  const deletion = await t.context.sql(
    `select canonical from audit_entries where resource_id = $1 and action = 'document.deleted'`,
    [id],
  );
  t.like(JSON.parse(String(deletion[0]?.canonical)), {
    actor: { type: 'user', id: admin.caller.userId },
    resource: { type: 'document', id, owner: api.caller.userId },
    seq: 3,
    data: { status: 'SEALED' },
  });
});

test('only an admin of its tenant deletes a sealed document, with a fresh proof', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  await certify(api, id);
  const roles = ['user', 'probatio_admin'];
  const stranger = await createApi(vault, { tenantId: 'acme', roles });
  const admin = await createApi(vault, { roles });
  const refused = async (by: typeof admin, headers?: Record<string, string>) => {
    const { status, body } = await removeDocument(by, id, headers);
    return `${status} ${String(body.code)}`;
  };
  t.is(await refused(stranger, await proofHeader(vault, stranger.caller)), '404 not_found');
  t.is(await refused(admin), '401 reauth_required');
  t.is(await refused(admin, { 'X-Reauth-Token': 'jam' }), '401 reauth_invalid');
  const another = await proofHeader(vault, stranger.caller);
  t.is(await refused(admin, another), '401 reauth_invalid', 'the proof of another user');
  t.is((await api.send('GET', `/v1/documents/${id}`)).body.status, 'SEALED');

  const { id: pending } = await storeDocument(t, api);
  t.is((await removeDocument(stranger, pending)).status, 404);
  t.is((await removeDocument(admin, pending)).status, 204, 'no proof for what is not sealed');
  const platform = await createApi(vault, { tenantId: 'acme', roles: ['user', 'platform_admin'] });
  t.is(await refused(platform), '401 reauth_required');
  const proof = await proofHeader(vault, platform.caller);
  t.is((await removeDocument(platform, id, proof)).status, 204);
});

test('an expired document may be deleted', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  await expireDocument(sql, id);
  t.is((await removeDocument(api, id)).status, 204);
});

test('deleting a document removes all its versions and their stored files', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { id, fileKey } = await storeDocument(t, api);
  await expireDocument(sql, id);
  const keys = [fileKey];
  for (let i = 0; i < 3; i += 1) keys.push((await storeVersion(t, api, id)).fileKey);
  t.is((await removeDocument(api, id)).status, 204);
  for (const key of keys) await untilGone(vault, key);
  for (const key of keys) {
    t.is((await createDocument(api, key)).body.code, 'stored_file_not_found');
  }
  const left = await sql('select 1 from document_versions where document_id = $1', [id]);
  t.deepEqual(left, []);
});

test('one sealed version keeps the owner from deleting the document', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { id, fileKey } = await storeDocument(t, api);
  await certify(api, id);
  const second = await storeVersion(t, api, id);
  await sql(
    `update document_versions set status = 'EXPIRED' where document_id = $1 and version = 2`,
    [id],
  );
  const third = await storeVersion(t, api, id);
  const { status, body } = await removeDocument(api, id);
  t.is(status, 403);
  t.is(body.code, 'document_sealed');
  t.is((await listVersions(api, id)).length, 3);

  await sql(
    `insert into document_shares (id, user_id, tenant_id, document_id, recipient_ref,
       recipient_user_id, wrapped_key, permissions)
     values (gen_random_uuid(), $1, $2, $3, gen_random_uuid(), gen_random_uuid(), '', '{read}')`,
    [api.caller.userId, api.caller.tenantId, id],
  );
  const admin = await createApi(vault, { roles: ['user', 'probatio_admin'] });
  t.is((await getDocument(admin, id)).status, 404, 'the right to delete does not include reading');
  const removed = await removeDocument(admin, id, await proofHeader(vault, admin.caller));
  t.is(removed.status, 204);
  for (const key of [fileKey, second.fileKey, third.fileKey]) await untilGone(vault, key);
  for (const table of ['document_shares', 'document_versions']) {
    const rows = await sql(`select 1 from ${table} where document_id = $1`, [id]);
    t.deepEqual(rows, [], table);
  }
  const [deletion] = await sql(
    `select canonical::json -> 'data' as data from audit_entries
     where resource_id = $1 and action = 'document.deleted'`,
    [id],
  );
  t.like(deletion?.['data'], { status: 'PENDING', versions: 3, sealedVersions: 1 });
});

test('deleting a document leaves other uploads untouched', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  const other = await upload(t, api, bytesOf(50));
  t.is((await removeDocument(api, id)).status, 204);
  t.is((await createDocument(api, other.fileKey)).status, 201);
});
