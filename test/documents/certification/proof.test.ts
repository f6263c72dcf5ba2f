import anyTest, { type TestFn } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { nextCursor } from '../../../client/http/pages.ts';
import type { AuditProof } from '../../../client/proofs/proof-format.ts';
import { verifyProof } from '../../../client/proofs/verify-proof.ts';
import { startVaultWithSigner } from '../../support/audit/killable-signer.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { certify, storeDocument, storeVersion } from '../../support/documents/documents.ts';
import { expireDocument } from '../../support/documents/rows.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault; readonly sql: Sql }>;

test.before(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

const readProofs = (api: Api, id: string) => api.send('GET', `/v1/documents/${id}/proof`);

async function sealVersions(api: Api, id: string, storeNext: () => Promise<unknown>) {
  const proofs: AuditProof[] = [];
  for (let version = 1; version <= 3; version += 1) {
    if (version > 1) await storeNext();
    proofs.push((await certify(api, id)).body.proof as AuditProof);
  }
  return proofs;
}

test('a document lists the proofs of its sealed versions, oldest first', async (t) => {
  const api = await createApi(t.context.vault);
  const { id } = await storeDocument(t, api);
  const proofs = await sealVersions(api, id, () => storeVersion(t, api, id));
  await storeVersion(t, api, id);
  const { status, body } = await readProofs(api, id);
  t.is(status, 200);
  t.deepEqual(body, { documentId: id, proofs });
  t.deepEqual((await api.send('GET', `/api/v1/documents/${id}/proof`)).body, body);
  const keys = (await api.send('GET', '/v1/audit/keys')).body.keys as {
    readonly fingerprint: string;
  }[];
  const trustedKeys = keys.map(({ fingerprint }) => fingerprint);
  for (const proof of proofs) t.true(verifyProof(proof, { trustedKeys }).valid);
});

test('the proofs of a document are read page by page', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  const proofs = await sealVersions(api, id, () => storeVersion(t, api, id));
  const read: AuditProof[] = [];
  let cursor: string | undefined = '';
  while (cursor !== undefined) {
    const path = `/v1/documents/${id}/proof?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`;
    const { headers, body } = await api.send('GET', path);
    const page = body.proofs as AuditProof[];
    t.true(page.length <= 2);
    read.push(...page);
    cursor = nextCursor(headers.get('link'));
  }
  t.deepEqual(read, proofs);
  t.is((await api.send('GET', `/v1/documents/${id}/proof?limit=0`)).status, 400);
});

test('a document without a sealed version has no proofs', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  t.deepEqual((await readProofs(api, id)).body, { documentId: id, proofs: [] });
  await expireDocument(sql, id);
  t.deepEqual((await readProofs(api, id)).body, { documentId: id, proofs: [] });
});

test('an unsigned proof is left out, or gives proof_not_ready if it is the only one', async (t) => {
  const { vault, signer, stop } = await startVaultWithSigner();
  t.teardown(stop);
  const api = await createApi(vault);
  const [first, second] = [await storeDocument(t, api), await storeDocument(t, api)];
  const { proof } = (await certify(api, first.id)).body;
  await storeVersion(t, api, first.id);
  await signer.kill();
  t.is((await certify(api, first.id)).status, 503);
  t.is((await certify(api, second.id)).status, 503);

  const { status, body } = await readProofs(api, first.id);
  t.is(status, 200);
  t.deepEqual(body.proofs, [proof]);
  const waiting = await readProofs(api, second.id);
  t.is(waiting.status, 404);
  t.is(waiting.body.code, 'proof_not_ready');
  t.regex(waiting.headers.get('retry-after') ?? '', /^[1-9]\d*$/);

  await signer.start();
  const proofsOf = async (id: string) => (await readProofs(api, id)).body.proofs;
  await until(async () => ((await proofsOf(second.id)) as unknown[] | undefined)?.length === 1, {
    what: 'the proof',
    timeoutMs: 30_000,
  });
  await until(async () => ((await proofsOf(first.id)) as unknown[]).length === 2, {
    what: 'the second proof',
    timeoutMs: 30_000,
  });
});
