import { hash, randomUUID, sign } from 'node:crypto';
import test from 'ava';
import canonicalize from 'canonicalize';
import { until } from '../../app/dev/processes/until.ts';
import type { AuditProof } from '../../client/proofs/proof-format.ts';
import { tryToken } from '../support/accounts/sessions.ts';
import { createAccount, logIn } from '../support/accounts/test-account.ts';
import { connectAs } from '../support/accounts/two-tenants.ts';
import { importKey, type ImportedKey } from '../support/audit/imported-key.ts';
import { askOpenssl } from '../support/audit/openssl.ts';
import { fileOf } from '../support/documents/files.ts';
import { assertError } from '../support/http/error-body.ts';
import { getJson, postJson, send } from '../support/http/send.ts';
import { readRecord, startOwnKeysVault, type KeysVault } from './keys-vault.ts';

/** Makes a key active whose private half the test has as well, as a thief would. */
async function activateStolenKey(keys: KeysVault): Promise<ImportedKey> {
  const stolen = await importKey(keys.fixture, 'audit', 2);
  await keys.send('POST', `/${stolen.keyId}/adopt`);
  await until(async () => (await keys.send('POST', `/${stolen.keyId}/activate`)).status === 200, {
    what: 'the activation of the stolen key',
    timeoutMs: 60_000,
  });
  return stolen;
}

/** Returns how a user reads and verifies the proofs of own entries. */
async function openUser({ vault, sql }: KeysVault) {
  const token = await logIn(vault, await createAccount(vault));
  const proofs = `${vault.baseUrl}/v1/audit/proof`;
  return {
    /** Causes an entry, and resolves with its proof. */
    async prove(): Promise<AuditProof> {
      const { body } = await send('POST', `${vault.baseUrl}/v1/uploads`, {
        token,
        json: fileOf(1),
      });
      const { sessionId } = body as { readonly sessionId: string };
      const [row] = await sql('select id from audit_entries where resource_id = $1', [sessionId]);
      return until(
        async () => {
          const answer = await getJson(`${proofs}/${String(row?.['id'])}`, token);
          return answer.status === 200 ? (answer.body as AuditProof) : undefined;
        },
        { what: 'the proof', timeoutMs: 60_000 },
      );
    },
    /** Resolves with the verdicts by every route, which must agree. */
    async judge(proof: AuditProof) {
      const single = (await getJson(`${proofs}/${proof.id}/verify`, token)).body as object;
      const batch = (await postJson(`${proofs}/verify-batch`, { ids: [proof.id] }, token)).body;
      const external = await this.judgeExternal(proof);
      const { results } = batch as { readonly results: Record<string, object> };
      return [withoutPlace(single), withoutPlace(results[proof.id] ?? {}), external];
    },
    async judgeExternal(proof: AuditProof) {
      const answer = await postJson(`${proofs}/verify-external`, { proof }, token);
      return withoutPlace(answer.body as object);
    },
    async status() {
      return (await getJson(`${proofs}/status`, token)).body;
    },
  };
}

/** Returns a verdict without the entry's id and the time of the verdict. */
function withoutPlace(verdict: object): object {
  const isOfVerdict = ([name]: [string, unknown]) => name !== 'entryId' && name !== 'verifiedAt';
  return Object.fromEntries(Object.entries(verdict).filter(isOfVerdict));
}

/** Forges a proof with the stolen key: the changed entry of another proof. */
function forge(
  { entryCanonical }: AuditProof,
  { keyId, publicKey, privateKey }: ImportedKey,
  change: object,
): AuditProof {
  const entry = { ...(JSON.parse(entryCanonical) as { readonly id: string }), ...change };
  const text = canonicalize(entry) ?? '';
  return {
    id: entry.id,
    entryCanonical: text,
    entryHash: hash('sha3-256', text),
    hsmSignature: sign('sha3-256', Buffer.from(text), privateKey).toString('base64'),
    hsmKeyId: keyId,
    publicKey,
  };
}

test('of a compromised key only what the vault holds from before is valid', async (t) => {
  const keys = await startOwnKeysVault(t);
  const stolen = await activateStolenKey(keys);
  const user = await openUser(keys);
  const early = await user.prove();
  const since = new Date(Date.now() + 1).toISOString();
  await until(() => Date.now() > Date.parse(since) + 5, { what: 'a later time', timeoutMs: 1_000 });
  const late = await user.prove();
  t.is(early.hsmKeyId, stolen.keyId);
  const forged = forge(early, stolen, { id: randomUUID() });
  const altered = forge(early, stolen, { data: { fileSize: 2, totalParts: 1 } });
  const unnoticed = { valid: true, keyState: 'ACTIVE', imported: true };
  for (const proof of [early, late, forged, altered]) {
    t.like(await user.judgeExternal(proof), unnoticed);
  }

  const successor = await keys.create('audit');
  const compromised = await keys.send('POST', `/${stolen.keyId}/compromise`, {
    since,
    successor: successor.keyId,
  });
  t.is(compromised.status, 200, compromised.text);
  t.like(compromised.body, { state: 'COMPROMISED', compromisedSince: since });
  t.is((await keys.activeKey('audit')).keyId, successor.keyId);

  const facts = { keyState: 'COMPROMISED', imported: true, compromisedSince: since };
  const valid = { valid: true, hashValid: true, signatureValid: true, ...facts };
  const invalid = {
    valid: false,
    hashValid: true,
    signatureValid: false,
    ...facts,
    reason: 'key_compromised',
  };
  t.deepEqual(await user.judge(early), [valid, valid, valid]);
  t.deepEqual(await user.judge(late), [invalid, invalid, invalid]);
  for (const proof of [forged, altered]) t.deepEqual(await user.judgeExternal(proof), invalid);
  t.like(await user.status(), { invalid: 1 });

  const record = await until(
    async () =>
      (await keys.list()).find(({ keyId }) => keyId === stolen.keyId)?.compromise ?? undefined,
    { what: 'the record of the compromise', timeoutMs: 60_000 },
  );
  t.is(record.hsmKeyId, successor.keyId);
  t.is(await askOpenssl(record), 'Verified OK');
  t.like(readRecord(record), {
    action: 'key.compromised',
    resource: { type: 'key', id: stolen.keyId },
    data: { requestedBy: 'test-admin', purpose: 'audit', since, successor: successor.keyId },
  });
  const next = await user.prove();
  t.like(await user.judgeExternal(next), { valid: true, keyState: 'ACTIVE', imported: false });
});

test('a compromise stays, and can only turn out to be older', async (t) => {
  const keys = await startOwnKeysVault(t);
  const stolen = await activateStolenKey(keys);
  const user = await openUser(keys);
  const proof = await user.prove();
  const since = new Date().toISOString();
  const { keyId } = await keys.create('audit');
  const compromise = (json: object) => keys.send('POST', `/${stolen.keyId}/compromise`, json);
  t.is((await compromise({ since, successor: keyId })).status, 200);
  t.like(await user.judgeExternal(proof), { valid: true });
  t.is((await compromise({ since })).status, 200);
  const later = await compromise({ since: new Date().toISOString() });
  assertError(t, later, { status: 409, code: 'key_compromised' });
  const older = '2020-01-01T00:00:00.000Z';
  t.like((await compromise({ since: older })).body, { compromisedSince: older });
  t.like(await user.judgeExternal(proof), { valid: false, reason: 'key_compromised' });
  for (const verb of ['activate', 'retire']) {
    const answer = await keys.send('POST', `/${stolen.keyId}/${verb}`);
    t.is(answer.status, verb === 'retire' ? 200 : 409);
  }
  t.is((await keys.list()).find((key) => key.keyId === stolen.keyId)?.state, 'COMPROMISED');

  const service = await connectAs(keys.vault.databases.service);
  t.teardown(() => service.end());
  for (const change of [
    `state = 'RETIRED', compromised_since = null`,
    'compromised_since = now()',
    `activated_at = '2000-01-01'`,
    'retired_at = now()',
  ]) {
    const update = service.query(`update signing_keys set ${change} where key_id = $1`, [
      stolen.keyId,
    ]);
    await t.throwsAsync(update, { message: /permission denied/ }, change);
  }
});

test('a compromise needs a key, an instant and, of an active key, a successor', async (t) => {
  const keys = await startOwnKeysVault(t);
  const { keyId } = await keys.activeKey('audit');
  const since = new Date().toISOString();
  const ask = (id: string, json: object) => keys.send('POST', `/${id}/compromise`, json);
  const unknown = await ask('0'.repeat(32), { since });
  assertError(t, unknown, { status: 404, code: 'not_found' });
  const alone = await ask(keyId, { since });
  assertError(t, alone, { status: 409, code: 'successor_required' });
  for (const successor of [keyId, '0'.repeat(32), (await keys.create('token')).keyId]) {
    const answer = await ask(keyId, { since, successor });
    assertError(t, answer, { status: 409, code: 'successor_not_ready' });
  }
  const spare = await keys.create('audit');
  const future = new Date(Date.now() + 3_600_000).toISOString();
  for (const bad of [{}, { since: 'today' }, { since: future }, { since, until: since }]) {
    const answer = await ask(spare.keyId, bad);
    assertError(t, answer, { status: 400, code: 'validation_failed' });
  }
  t.like((await ask(spare.keyId, { since })).body, { state: 'COMPROMISED', activatedAt: null });
  t.is((await keys.activeKey('audit')).keyId, keyId);
});

test('a compromised token key vouches for no token any more', async (t) => {
  const keys = await startOwnKeysVault(t);
  const token = await logIn(keys.vault, await createAccount(keys.vault));
  t.is((await tryToken(keys.vault, token)).status, 200);
  const { keyId } = await keys.activeKey('token');
  const successor = (await keys.create('token')).keyId;
  const since = new Date().toISOString();
  const answer = await keys.send('POST', `/${keyId}/compromise`, { since, successor });
  t.is(answer.status, 200, answer.text);
  await until(async () => (await tryToken(keys.vault, token)).status === 401, {
    what: 'the refusal of the token',
    timeoutMs: 60_000,
  });
  const set = (await getJson(`${keys.vault.baseUrl}/.well-known/jwks.json`)).body;
  t.false(JSON.stringify(set).includes(keyId));
});
