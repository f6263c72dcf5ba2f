import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { Client } from 'pg';
import {
  addVersion,
  certify,
  getDocument,
  listVersions,
  metadataOf,
  storeDocument,
} from '../support/documents/documents.ts';
import { bytesOf, sha3, upload } from '../support/documents/files.ts';
import { createRecipient, endShare, entriesOf, share } from '../support/documents/people.ts';
import type { Api } from '../support/documents/uploads.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import type { Vault } from '../support/vault/vault.ts';

const test = anyTest as TestFn<{ vault: Vault }>;
type Context = ExecutionContext<{ vault: Vault }>;
type Json = Record<string, unknown>;

test.before((t) => {
  t.context.vault = sharedVault();
});

/** Stores a document of three versions, of which the first two are sealed. */
async function storeThree(t: Context): Promise<{
  readonly api: Api;
  readonly id: string;
  readonly hashes: readonly [string, string, string];
}> {
  const { api } = await createRecipient(t, t.context.vault);
  const { id, fileHash } = await storeDocument(t, api);
  const added: string[] = [];
  t.is((await certify(api, id)).status, 200);
  for (const version of [2, 3]) {
    const bytes = bytesOf(100 + version);
    const { fileKey } = await upload(t, api, bytes);
    const own = { encryptedMetadata: metadataOf(`version ${version}`) };
    t.is((await addVersion(api, id, fileKey, own)).status, 201);
    if (version === 2) t.is((await certify(api, id)).status, 200);
    added.push(sha3(bytes));
  }
  const [second = '', third = ''] = added;
  return { api, id, hashes: [fileHash, second, third] };
}

async function download({ baseUrl }: Vault, { token }: Api, path: string) {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${baseUrl}/v1/documents/${path}`, { headers });
  const bytes = new Uint8Array(await response.arrayBuffer());
  return { status: response.status, hash: sha3(bytes) };
}

test('a recipient of one version sees this version and no other, on every route', async (t) => {
  const { vault } = t.context;
  const { api, id, hashes } = await storeThree(t);
  const { email, api: reader } = await createRecipient(t, vault);
  const shared = await share(api, id, { recipientEmail: email, version: 2 });
  t.is(shared.status, 201);
  t.is(shared.body['version'], 2);

  const { body: received } = await reader.send('GET', '/v1/documents/shared');
  t.like((received as unknown as Json[])[0], {
    version: 2,
    fileHash: hashes[1],
    encryptedMetadata: metadataOf('version 2'),
    status: 'SEALED',
  });
  t.like((await getDocument(reader, id)).body, { fileHash: hashes[1], status: 'SEALED' });
  const { body: hash } = await reader.send('GET', `/v1/documents/${id}/hash`);
  t.true(JSON.stringify(hash).includes(hashes[1]));
  t.deepEqual(
    (await listVersions(reader, id)).map(({ version }) => version),
    [2],
  );
  t.deepEqual(await download(vault, reader, `${id}/download`), { status: 200, hash: hashes[1] });
  t.is((await download(vault, reader, `${id}/download?version=2`)).hash, hashes[1]);
  for (const version of [1, 3]) {
    t.is((await download(vault, reader, `${id}/download?version=${version}`)).status, 404);
  }
  const { body: proof } = await reader.send('GET', `/v1/documents/${id}/proof`);
  const { proofs } = proof as unknown as { readonly proofs: { readonly entryCanonical: string }[] };
  t.deepEqual(
    proofs.map(({ entryCanonical }) => {
      const { action, data } = JSON.parse(entryCanonical) as { action: string; data: Json };
      return [action, data['version']];
    }),
    [['document.sealed', 2]],
  );
});

test('row-level security alone shows the recipient no other version', async (t) => {
  const { vault } = t.context;
  const { api, id } = await storeThree(t);
  const { email, userId, api: reader } = await createRecipient(t, vault);
  await share(api, id, { recipientEmail: email, version: 2 });
  const client = new Client({ connectionString: vault.databases.app });
  await client.connect();
  t.teardown(() => client.end());
  await client.query(
    "select set_config('app.user_id', $1, false), set_config('app.tenant_id', $2, false)",
    [userId, reader.caller.tenantId],
  );
  const query = 'select version from document_versions where document_id = $1';
  t.deepEqual((await client.query(query, [id])).rows, [{ version: 2 }]);
});

test('the owner and a recipient of the document go on seeing all versions', async (t) => {
  const { vault } = t.context;
  const { api, id, hashes } = await storeThree(t);
  const [one, all] = [await createRecipient(t, vault), await createRecipient(t, vault)];
  await share(api, id, { recipientEmail: one.email, version: 1 });
  const whole = await share(api, id, { recipientEmail: all.email });
  t.is(whole.body['version'], null);
  for (const reader of [api, all.api]) {
    t.is((await listVersions(reader, id)).length, 3);
    t.is((await getDocument(reader, id)).body['fileHash'], hashes[2]);
    for (const [index, hash] of hashes.entries()) {
      const path = `${id}/download?version=${index + 1}`;
      t.deepEqual(await download(vault, reader, path), { status: 200, hash });
    }
  }
  const { body } = await api.send('GET', `/v1/documents/${id}/shares`);
  t.deepEqual(
    (body as unknown as Json[]).map(({ version }) => version),
    [null, 1],
  );
});

test('a share of one version ends, and may be made anew for the whole document', async (t) => {
  const { vault } = t.context;
  const { api, id, hashes } = await storeThree(t);
  const { email, api: reader } = await createRecipient(t, vault);
  const first = await share(api, id, { recipientEmail: email, version: 1 });
  t.is((await share(api, id, { recipientEmail: email })).body.code, 'share_exists');
  await endShare(vault, first.body.id);
  t.is((await getDocument(reader, id)).status, 404);
  t.is((await share(api, id, { recipientEmail: email })).status, 201);
  t.is((await getDocument(reader, id)).body['fileHash'], hashes[2]);
});

test('a version that does not exist is not shared; the entry names the one that is', async (t) => {
  const { vault } = t.context;
  const { api, id } = await storeThree(t);
  const { email } = await createRecipient(t, vault);
  for (const version of [0, -1, 1.5, 4, 2 ** 31, '1', null]) {
    const { body } = await share(api, id, { recipientEmail: email, version });
    t.is(body.code, 'validation_failed', String(version));
  }
  t.is((await share(api, id, { recipientEmail: email, version: 3 })).status, 201);
  const entries = (await entriesOf(vault, id)) as { readonly action: string; data: Json }[];
  const shared = entries.filter(({ action }) => action === 'document.shared');
  t.deepEqual(
    shared.map(({ data }) => data['version']),
    [3],
  );
});
