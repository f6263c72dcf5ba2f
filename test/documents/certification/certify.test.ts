import { rename, rm, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { verifyProof } from '../../../client/proofs/verify-proof.ts';
import type { AuditProof } from '../../../client/proofs/proof-format.ts';
import { askOpenssl } from '../../support/audit/openssl.ts';
import { startVaultWithSigner } from '../../support/audit/killable-signer.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import { bytesOf, countStatuses, sha3 } from '../../support/documents/files.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { objectDirectory, partFile } from '../../support/documents/stored-files.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { certify, metadata, storeDocument } from '../../support/documents/documents.ts';
import { expireDocument } from '../../support/documents/rows.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault; readonly sql: Sql }>;

test.before(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

async function trustedKeys(api: Api): Promise<string[]> {
  const { body } = await api.send('GET', '/v1/audit/keys');
  return (body.keys as { readonly fingerprint: string }[]).map(({ fingerprint }) => fingerprint);
}

test('a certificate is a proof that anyone can verify, with OpenSSL too', async (t) => {
  const api = await createApi(t.context.vault);
  const bytes = bytesOf(1000);
  const { id } = await storeDocument(t, api, bytes);
  const { status, body } = await certify(api, id);
  t.is(status, 200);
  t.deepEqual(Object.keys(body).sort(), ['id', 'proof', 'proofId', 'sealedAt', 'status']);
  t.like(body, { id, status: 'SEALED' });

  const proof = body.proof as AuditProof;
  t.is(body.proofId, proof.id);
  t.true(verifyProof(proof, { trustedKeys: await trustedKeys(api) }).valid);
  t.is(await askOpenssl(proof), 'Verified OK');
  const entry = JSON.parse(proof.entryCanonical) as Record<string, unknown>;
  t.like(entry, {
    v: 2,
    id: body.proofId,
    action: 'document.sealed',
    actor: { type: 'user', id: api.caller.userId },
    tenant: 'default',
    resource: { type: 'document', id, owner: api.caller.userId },
    seq: 2,
    outcome: 'success',
    data: {
      version: 1,
      fileHash: sha3(bytes),
      size: 1000,
      metadataHash: sha3(Buffer.from(metadata, 'base64')),
    },
  });
  t.deepEqual(Object.keys(entry.data as object).sort(), [
    'fileHash',
    'metadataHash',
    'size',
    'version',
  ]);
  t.is(Buffer.from(String(entry.salt), 'base64').length, 32);
  t.is((await api.send('GET', `/v1/documents/${id}`)).body.status, 'SEALED');
  t.deepEqual((await api.send('GET', `/v1/audit/proof/${proof.id}`)).body as unknown, proof);
});

test('a document is certified once, and every later call returns the proof’s id', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  const answers = await Promise.all(Array.from({ length: 50 }, () => certify(api, id)));
  t.deepEqual(countStatuses(answers), { 200: 1, 409: 49 });
  const proofId = answers.find(({ status }) => status === 200)?.body.proofId;
  const later = await api.send('POST', `/api/v1/documents/${id}/certify`);
  for (const { status, body } of [...answers, later]) {
    t.is(body.proofId, proofId);
    if (status === 409) t.is(body.code, 'document_sealed');
  }
  const entries = await sql(
    `select id from audit_entries where resource_id = $1 and action = 'document.sealed'`,
    [id],
  );
  t.deepEqual(entries, [{ id: proofId }]);
});

test('an expired document is not certified', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  await expireDocument(sql, id);
  const { status, body } = await certify(api, id);
  t.is(status, 409);
  t.is(body.code, 'document_expired');
});

test('a document whose stored file differs from the hashed one is not certified', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const changes: Record<string, (key: string) => Promise<void>> = {
    removed: (key) => rm(objectDirectory(vault, key), { recursive: true }),
    truncated: async (key) => truncate(await partFile(vault, key), 50),
    'lost a part': async (key) => rm(await partFile(vault, key)),
    grown: async (key) => writeFile(await partFile(vault, key), bytesOf(1), { flag: 'a' }),
    replaced: async (key) => {
      const other = await storeDocument(t, api);
      await rm(objectDirectory(vault, key), { recursive: true });
      await rename(objectDirectory(vault, other.fileKey), objectDirectory(vault, key));
    },
    'lost its list of parts': (key) => rm(path.join(objectDirectory(vault, key), 'manifest.json')),
  };
  for (const [what, change] of Object.entries(changes)) {
    const { id, fileKey } = await storeDocument(t, api);
    await change(fileKey);
    const { status, body } = await certify(api, id);
    t.is(status, 409, what);
    t.is(body.code, 'stored_file_changed', what);
    t.is((await api.send('GET', `/v1/documents/${id}`)).body.status, 'PENDING');
  }
});

test('a document is sealed while the signer is down, and gets its proof afterwards', async (t) => {
  const { vault, signer, stop } = await startVaultWithSigner();
  t.teardown(stop);
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  await signer.kill();

  const { status, headers, body } = await certify(api, id);
  t.is(status, 503);
  t.is(body.code, 'signer_unavailable');
  t.regex(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  const proofPath = `/v1/audit/proof/${String(body.proofId)}`;
  for (const path of [proofPath, `${proofPath}/verify`]) {
    const unsigned = await api.send('GET', path);
    t.is(unsigned.status, 404);
    t.is(unsigned.body.code, 'proof_not_ready');
    t.regex(unsigned.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  }
  const again = await certify(api, id);
  t.is(again.status, 409);
  t.is(again.body.proofId, body.proofId);
  t.is((await api.send('GET', `/v1/documents/${id}`)).body.status, 'SEALED');

  await signer.start();
  const proof = await until(
    async () => {
      const answer = await api.send('GET', proofPath);
      return answer.status === 200 && answer.body;
    },
    { what: 'the proof', timeoutMs: 60_000 },
  );
  t.true(verifyProof(proof, { trustedKeys: await trustedKeys(api) }).valid);
});
