import { createHash, generateKeyPairSync, randomBytes, randomUUID, sign } from 'node:crypto';
import { p256 } from '@noble/curves/nist.js';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import type { AuditProof } from '../../../client/proofs/proof-format.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import { sha3 } from '../../support/documents/files.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import { become } from '../sealing/sealed.ts';

const test = anyTest as TestFn<{ vault: TestVault; sql: Sql }>;

test.before(async (t) => {
  const vault = await startReadyVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

/** Creates an entry of the caller and returns its signed proof. */
async function obtainProof(
  { context: { sql } }: Pick<ExecutionContext<{ vault: TestVault; sql: Sql }>, 'context'>,
  api: Api,
): Promise<AuditProof> {
  const json = { encryptedEnvelope: randomBytes(40).toString('base64') };
  const stored = await api.send('POST', '/v1/crypto/keys/master-envelope', { json });
  if (stored.status !== 201) throw new Error(`no entry: ${JSON.stringify(stored.body)}`);
  const [entry] = await sql('select id from audit_entries where user_id = $1', [api.caller.userId]);
  let last: unknown;
  const find = async () => {
    const { status, body } = await api.send('GET', `/v1/audit/proof/${String(entry?.id)}`);
    last = body;
    return status === 200 && (body as unknown as AuditProof);
  };
  return until(find, { what: 'the signature', timeoutMs: 60_000 }).catch((cause: unknown) => {
    throw new Error(`no proof: ${JSON.stringify(last)}`, { cause });
  });
}

async function verifyExternal(api: Api, proof: object) {
  const answer = await api.send('POST', '/v1/audit/proof/verify-external', { json: { proof } });
  const { hashValid, signatureValid, valid, verifiedAt } = answer.body;
  return { status: answer.status, verdict: { hashValid, signatureValid, valid }, verifiedAt };
}

const right = { hashValid: true, signatureValid: true, valid: true };
const wrongHash = { hashValid: false, signatureValid: true, valid: false };
const wrongSignature = { hashValid: true, signatureValid: false, valid: false };
const wrong = { hashValid: false, signatureValid: false, valid: false };

interface ListedKey {
  readonly keyId: string;
  readonly purpose: string;
  readonly publicKey: string;
  readonly fingerprint: string;
}

async function listKeys(vault: TestVault): Promise<ListedKey[]> {
  const response = await fetch(`${vault.baseUrl}/v1/audit/keys`);
  return ((await response.json()) as { keys: ListedKey[] }).keys;
}

test('a proof is found by its owner and by auditors, and by nobody else', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const proof = await obtainProof(t, api);
  const path = `/v1/audit/proof/${proof.id}`;
  for (const role of ['auditor', 'probatio_admin']) {
    const reader = await createApi(vault, { roles: ['user', role] });
    t.deepEqual((await reader.send('GET', path)).body as unknown, proof);
    t.is((await reader.send('GET', `${path}/verify`)).body.valid, true);
  }
  for (const stranger of [
    await createApi(vault),
    await createApi(vault, { userId: api.caller.userId, tenantId: 'other' }),
    await createApi(vault, { roles: ['user', 'operator'] }),
  ]) {
    for (const url of [path, `${path}/verify`]) {
      const { status, body } = await stranger.send('GET', url);
      t.is(status, 404);
      t.is(body.code, 'not_found');
    }
  }
  t.is((await api.send('GET', `/v1/audit/proof/${randomUUID()}`)).status, 404);
  t.is((await api.send('GET', '/v1/audit/proof/7')).status, 400);
  t.is((await fetch(vault.baseUrl + path)).status, 401);
});

test('a proof has the six documented fields and verifies', async (t) => {
  const api = await createApi(t.context.vault);
  const proof = await obtainProof(t, api);
  t.deepEqual(Object.keys(proof).sort(), [
    'entryCanonical',
    'entryHash',
    'hsmKeyId',
    'hsmSignature',
    'id',
    'publicKey',
  ]);
  t.is(proof.entryHash, sha3(Buffer.from(proof.entryCanonical)));
  const der = Buffer.from(proof.publicKey, 'base64');
  t.is(proof.hsmKeyId, createHash('sha256').update(der).digest('hex').slice(0, 32));

  const { status, body } = await api.send('GET', `/v1/audit/proof/${proof.id}/verify`);
  t.is(status, 200);
  const { verifiedAt, ...verdict } = body;
  t.deepEqual(verdict as unknown, {
    entryId: proof.id,
    ...right,
    keyState: 'ACTIVE',
    imported: false,
  });
  t.regex(String(verifiedAt), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  const external = await verifyExternal(api, proof);
  t.deepEqual(external.verdict as unknown, right);
  t.is(typeof external.verifiedAt, 'string');
});

test('every change of a proof is detected, with the part that fails', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const [proof, other] = [await obtainProof(t, api), await obtainProof(t, await createApi(vault))];
  const token = (await listKeys(vault)).find(({ purpose }) => purpose === 'token');
  const changed = proof.entryCanonical.replace('envelope.created', 'envelope.removed');
  const forged = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const forgedDer = forged.publicKey.export({ type: 'spki', format: 'der' });
  const forgedKey = {
    hsmKeyId: createHash('sha256').update(forgedDer).digest('hex').slice(0, 32),
    publicKey: forgedDer.toString('base64'),
    hsmSignature: sign('sha3-256', Buffer.from(proof.entryCanonical), forged.privateKey).toString(
      'base64',
    ),
  };
  const changes: [object, object][] = [
    [{ id: other.id }, wrongHash],
    [{ entryCanonical: changed }, wrong],
    [{ entryCanonical: changed, entryHash: sha3(Buffer.from(changed)) }, wrongSignature],
    [{ entryCanonical: `${proof.entryCanonical} ` }, wrong],
    [{ entryCanonical: 'null' }, wrong],
    [{ entryCanonical: 'no JSON' }, wrong],
    [{ entryHash: other.entryHash }, wrongHash],
    [{ hsmSignature: other.hsmSignature }, wrongSignature],
    [{ hsmSignature: randomBytes(70).toString('base64') }, wrongSignature],
    [{ hsmSignature: 'MAA=' }, wrongSignature],
    [{ hsmSignature: '' }, wrongSignature],
    [{ hsmKeyId: '0'.repeat(32) }, wrongSignature],
    [{ hsmKeyId: token?.keyId }, wrongSignature],
    [{ hsmKeyId: token?.keyId, publicKey: token?.publicKey }, wrongSignature],
    [{ publicKey: token?.publicKey }, wrongSignature],
    [{ publicKey: forgedKey.publicKey }, wrongSignature],
    [forgedKey, wrongSignature],
    [{ ...forgedKey, hsmKeyId: proof.hsmKeyId }, wrongSignature],
    [{ ...other, id: proof.id }, wrongHash],
  ];
  for (const [change, expected] of changes) {
    const { status, verdict } = await verifyExternal(api, { ...proof, ...change });
    t.is(status, 200, JSON.stringify(change));
    t.deepEqual(verdict as unknown, expected, JSON.stringify(change));
  }
});

test('a signature verifies with high and with low s', async (t) => {
  const api = await createApi(t.context.vault);
  const proof = await obtainProof(t, api);
  const { r, s } = p256.Signature.fromBytes(Buffer.from(proof.hsmSignature, 'base64'), 'der');
  const twin = new p256.Signature(r, p256.Point.Fn.neg(s));
  const hsmSignature = Buffer.from(twin.toBytes('der')).toString('base64');
  t.deepEqual((await verifyExternal(api, { ...proof, hsmSignature })).verdict as unknown, right);
});

test('a malformed proof is refused', async (t) => {
  const api = await createApi(t.context.vault);
  const proof = await obtainProof(t, api);
  const changes: object[] = [
    ...Object.keys(proof).map((field) => ({ [field]: undefined })),
    ...Object.keys(proof).map((field) => ({ [field]: null })),
    { entryHash: proof.entryHash.toUpperCase() },
    { entryHash: proof.entryHash.slice(2) },
    { hsmKeyId: proof.hsmKeyId.toUpperCase() },
    { hsmSignature: `${proof.hsmSignature}\n` },
    { publicKey: 'PEM' },
    { valid: true },
  ];
  for (const change of changes) {
    const { status } = await verifyExternal(api, { ...proof, ...change });
    t.is(status, 400, JSON.stringify(change));
  }
  const bare = await api.send('POST', '/v1/audit/proof/verify-external', { json: proof });
  t.is(bare.status, 400);
});

test('a stored entry that was tampered with no longer verifies', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const proof = await obtainProof(t, api);
  const verify = async () => {
    const { body } = await api.send('GET', `/v1/audit/proof/${proof.id}/verify`);
    return { hashValid: body.hashValid, signatureValid: body.signatureValid, valid: body.valid };
  };
  await sql(
    `update audit_log set canonical = replace(canonical, 'MASTER', 'DEVICE') where id = $1`,
    [proof.id],
  );
  t.deepEqual((await verify()) as unknown, wrong);
  await sql(
    `update audit_log set canonical = replace(canonical, 'DEVICE', 'MASTER') where id = $1`,
    [proof.id],
  );
  await sql(`update audit_seals set hash = sha256('') where entry_id = $1`, [proof.id]);
  t.deepEqual((await verify()) as unknown, wrongHash);
});

test('a proof by a key that another process has just registered is returned at once', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const proof = await obtainProof(t, api);
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const der = publicKey.export({ type: 'spki', format: 'der' });
  const keyId = createHash('sha256').update(der).digest('hex').slice(0, 32);
  const signature = sign('sha3-256', Buffer.from(proof.entryCanonical), privateKey);
  // Both calls read the registry; the second makes this process cache that the key is unknown.
  await listKeys(vault);
  await verifyExternal(api, { ...proof, hsmKeyId: keyId });
  await sql(
    `insert into signing_keys (key_id, purpose, algorithm, public_key, generation, state,
       activated_at, retired_at)
     values ($1, 'audit', 'ECDSA-P256-SHA3-256', $2, 99, 'RETIRED', now() - interval '1 hour',
       now() + interval '1 hour')`,
    [keyId, der.toString('base64')],
  );
  await sql('update audit_seals set key_id = $2, signature = $3 where entry_id = $1', [
    proof.id,
    Buffer.from(keyId, 'hex'),
    signature,
  ]);
  const { status, body } = await api.send('GET', `/v1/audit/proof/${proof.id}`);
  t.is(status, 200, JSON.stringify(body));
  t.is(body.hsmKeyId, keyId);
  t.is((await api.send('GET', `/v1/audit/proof/${proof.id}/verify`)).body.valid, true);
});

test('a proof by a key that another process has just activated is valid at once', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const proof = await obtainProof(t, api);
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const der = publicKey.export({ type: 'spki', format: 'der' });
  const keyId = createHash('sha256').update(der).digest('hex').slice(0, 32);
  await sql(
    `insert into signing_keys (key_id, purpose, algorithm, public_key, generation)
     values ($1, 'audit', 'ECDSA-P256-SHA3-256', $2, 98)`,
    [keyId, der.toString('base64')],
  );
  await until(async () => (await listKeys(vault)).some((key) => key.keyId === keyId), {
    what: 'the vault to read the new key',
    timeoutMs: 60_000,
  });
  const signature = sign('sha3-256', Buffer.from(proof.entryCanonical), privateKey);
  const signed = {
    ...proof,
    hsmSignature: signature.toString('base64'),
    hsmKeyId: keyId,
    publicKey: der.toString('base64'),
  };
  const verdict = async () => (await verifyExternal(api, signed)).verdict.valid;
  t.is(await verdict(), false);
  await sql(
    `update signing_keys set state = 'RETIRED', activated_at = now() - interval '1 hour',
       retired_at = now() + interval '1 hour' where key_id = $1`,
    [keyId],
  );
  t.is(await verdict(), true);
});

test('a dead entry may get a proof later; an abandoned one names its tombstone', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { id } = await obtainProof(t, api);
  const urls = [`/v1/audit/proof/${id}`, `/v1/audit/proof/${id}/verify`];
  await sql(become.dead, [id]);
  for (const url of urls) {
    const { status, body, headers } = await api.send('GET', url);
    t.is(status, 404);
    t.is(body.code, 'proof_not_ready');
    t.is(headers.get('retry-after'), '60');
  }
  await sql('delete from audit_dead_letters where entry_id = $1', [id]);
  await sql(become.abandoned, [id]);
  for (const url of urls) {
    const { status, body } = await api.send('GET', url);
    t.is(status, 410);
    t.like(body, { code: 'entry_unrecoverable', proofId: '018f0000-0000-7000-8000-00000000dead' });
  }
  await sql(become.erased, [id]);
  for (const url of urls) {
    const { status, body } = await api.send('GET', url);
    t.is(status, 410);
    t.is(body.code, 'entry_erased');
  }
});
