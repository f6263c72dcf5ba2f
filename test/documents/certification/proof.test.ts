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

interface ProofPage {
  readonly proofs: readonly AuditProof[];
  readonly actions: Readonly<Record<string, string>>;
}

const actionsOf = ({ proofs, actions }: ProofPage) => proofs.map(({ id }) => actions[id]);

const sealsOf = ({ proofs, actions }: ProofPage) =>
  proofs.filter(({ id }) => actions[id] === 'document.sealed');

/** Reads the proofs once all entries of the document are signed. */
async function readAllProofs(api: Api, id: string, count: number): Promise<ProofPage> {
  const read = async () => (await readProofs(api, id)).body as unknown as ProofPage;
  const isWhole = async () => (await read()).proofs?.length === count;
  await until(isWhole, { what: 'the signatures', timeoutMs: 60_000 });
  return read();
}

async function sealVersions(api: Api, id: string, storeNext: () => Promise<unknown>) {
  const proofs: AuditProof[] = [];
  for (let version = 1; version <= 3; version += 1) {
    if (version > 1) await storeNext();
    proofs.push((await certify(api, id)).body.proof as AuditProof);
  }
  return proofs;
}

test('a document lists all of its proofs with their actions, oldest first', async (t) => {
  const api = await createApi(t.context.vault);
  const { id } = await storeDocument(t, api);
  const proofs = await sealVersions(api, id, () => storeVersion(t, api, id));
  await storeVersion(t, api, id);
  const page = await readAllProofs(api, id, 7);
  t.deepEqual(actionsOf(page), [
    'document.created',
    'document.sealed',
    'document.version_added',
    'document.sealed',
    'document.version_added',
    'document.sealed',
    'document.version_added',
  ]);
  t.deepEqual(sealsOf(page), proofs);
  t.deepEqual(
    Object.keys(page.actions),
    page.proofs.map((proof) => proof.id),
  );
  for (const proof of page.proofs) t.is(Object.keys(proof).length, 6);
  t.deepEqual((await api.send('GET', `/api/v1/documents/${id}/proof`)).body, { ...page });
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
  const whole = await readAllProofs(api, id, 6);
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
  t.deepEqual(read, whole.proofs);
  t.deepEqual(sealsOf(whole), proofs);
  t.is((await api.send('GET', `/v1/documents/${id}/proof?limit=0`)).status, 400);
});

test('a document without a sealed version has the proof of its creation', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  t.deepEqual(actionsOf(await readAllProofs(api, id, 1)), ['document.created']);
  await expireDocument(sql, id);
  t.deepEqual(actionsOf(await readAllProofs(api, id, 1)), ['document.created']);
});

test('an unsigned proof is left out; proof_not_ready if there is no other', async (t) => {
  const { vault, signer, stop } = await startVaultWithSigner();
  t.teardown(stop);
  const api = await createApi(vault);
  const first = await storeDocument(t, api);
  t.is((await certify(api, first.id)).status, 200);
  await storeVersion(t, api, first.id);
  const signed = await readAllProofs(api, first.id, 3);
  await signer.kill();
  t.is((await certify(api, first.id)).status, 503);
  const second = await storeDocument(t, api);

  const { status, body } = await readProofs(api, first.id);
  t.is(status, 200);
  t.deepEqual(body, { ...signed });
  const waiting = await readProofs(api, second.id);
  t.is(waiting.status, 404);
  t.is(waiting.body.code, 'proof_not_ready');
  t.regex(waiting.headers.get('retry-after') ?? '', /^[1-9]\d*$/);

  await signer.start();
  t.deepEqual(actionsOf(await readAllProofs(api, second.id, 1)), ['document.created']);
  t.is(actionsOf(await readAllProofs(api, first.id, 4)).at(-1), 'document.sealed');
});
