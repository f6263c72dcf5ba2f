import { rm } from 'node:fs/promises';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { nextCursor } from '../../client/http/pages.ts';
import type { AuditProof } from '../../client/proofs/proof-format.ts';
import { createApi } from '../support/documents/uploads.ts';
import { bytesOf, sha3, upload } from '../support/documents/files.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { hasObject, objectDirectory } from '../support/documents/stored-files.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import type { Vault } from '../support/vault/vault.ts';
import {
  addVersion,
  certify,
  createDocument,
  getDocument,
  listVersions,
  metadata,
  metadataOf,
  removeDocument,
  replaceMetadata,
  storeDocument,
} from '../support/documents/documents.ts';
import { actionsOn, untilHashed } from '../support/documents/rows.ts';

const test = anyTest as TestFn<{ readonly vault: Vault; readonly sql: Sql }>;

test.before(async (t) => {
  const vault = sharedVault();
  t.context = { vault, sql: createSql(vault) };
});

const rounds = 10;

/** Returns the hashes that a proof records for the sealed version. */
function sealedBy({ entryCanonical }: AuditProof) {
  return (
    JSON.parse(entryCanonical) as {
      data: { readonly fileHash: string; readonly metadataHash: string };
    }
  ).data;
}

test('a proof records the sealed version’s metadata despite concurrent changes', async (t) => {
  const api = await createApi(t.context.vault);
  for (let round = 0; round < rounds; round += 1) {
    const { id } = await storeDocument(t, api);
    const encryptedMetadata = metadataOf(`round ${round}`);
    const change = () => replaceMetadata(api, id, { encryptedMetadata }, { 'If-Match': '*' });
    const [first, certified, second] = await Promise.all([change(), certify(api, id), change()]);
    t.is(certified.status, 200);
    const isChanged = first.status === 200 || second.status === 200;
    for (const { status, body } of [first, second]) {
      if (status !== 200) t.is(body.code, 'document_sealed');
    }
    const document = (await getDocument(api, id)).body;
    t.is(document.encryptedMetadata, isChanged ? encryptedMetadata : metadata);
    const { metadataHash } = sealedBy(certified.body.proof as AuditProof);
    t.is(metadataHash, sha3(Buffer.from(String(document.encryptedMetadata), 'base64')));
  }
});

test('a proof records the version it seals despite concurrent new versions', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  for (let round = 0; round < rounds; round += 1) {
    const { id } = await storeDocument(t, api);
    const { fileKey } = await upload(t, api, bytesOf(10));
    const [certified, added] = await Promise.all([certify(api, id), addVersion(api, id, fileKey)]);
    t.is(certified.status, 200);
    t.is(added.status, 201);
    const versions = await listVersions(api, id);
    const sealed = versions.filter(({ status }) => status === 'SEALED');
    t.is(sealed.length, 1);
    t.is(sealed[0]?.fileHash, sealedBy(certified.body.proof as AuditProof).fileHash);
    const isSealedFirst = sealed[0]?.version === 1;
    t.deepEqual(await actionsOn(sql, id), [
      'document.created',
      ...(isSealedFirst
        ? ['document.sealed', 'document.version_added']
        : ['document.version_added', 'document.sealed']),
    ]);
  }
});

test('a version whose file is gone is not sealed, even if it just became current', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  for (let round = 0; round < rounds; round += 1) {
    const { id } = await storeDocument(t, api);
    const { fileKey, sessionId } = await upload(t, api, bytesOf(10));
    await untilHashed(sql, sessionId);
    await rm(objectDirectory(vault, fileKey), { recursive: true });
    const [certified, added] = await Promise.all([certify(api, id), addVersion(api, id, fileKey)]);
    t.is(added.status, 201);
    const [second, first] = await listVersions(api, id);
    t.is(second?.status, 'PENDING');
    t.is(certified.status, first?.status === 'SEALED' ? 200 : 409);
    if (certified.status === 409) t.is(certified.body.code, 'stored_file_changed');
  }
});

test('a version added during a deletion is deleted too, or its file stays usable', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  for (let round = 0; round < rounds; round += 1) {
    const { id, fileKey } = await storeDocument(t, api);
    const second = await upload(t, api, bytesOf(10));
    const [added, removed] = await Promise.all([
      addVersion(api, id, second.fileKey),
      removeDocument(api, id),
    ]);
    t.is(removed.status, 204);
    t.is((await getDocument(api, id)).status, 404);
    const gone = async (key: string) =>
      until(async () => !(await hasObject(vault, key)), {
        what: 'the object to be deleted',
        timeoutMs: 60_000,
      });
    await gone(fileKey);
    if (added.status === 201) {
      await gone(second.fileKey);
    } else {
      t.is(added.status, 404);
      t.is((await createDocument(api, second.fileKey)).status, 201);
    }
  }
});

test('a list read during creations has every older document exactly once', async (t) => {
  const api = await createApi(t.context.vault);
  const before: string[] = [];
  for (let i = 0; i < 20; i += 1) before.unshift((await storeDocument(t, api)).id);
  const uploads = await Promise.all(Array.from({ length: 15 }, () => upload(t, api, bytesOf(10))));
  const making = Promise.all(uploads.map(({ fileKey }) => createDocument(api, fileKey)));
  const seen: string[] = [];
  let path: string | undefined = '/v1/documents?limit=2';
  while (path !== undefined) {
    const { headers, body } = await api.send('GET', path);
    seen.push(...(body as unknown as { readonly id: string }[]).map(({ id }) => id));
    const cursor = nextCursor(headers.get('link'));
    path = cursor === undefined ? undefined : `/v1/documents?limit=2&cursor=${cursor}`;
  }
  for (const { status } of await making) t.is(status, 201);
  t.is(new Set(seen).size, seen.length, 'no repetition');
  const known = new Set(before);
  t.deepEqual(
    seen.filter((id) => known.has(id)),
    before,
  );
});
