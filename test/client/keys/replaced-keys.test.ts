import { randomBytes } from 'node:crypto';
import anyTest from 'ava';
import { z } from 'zod';
import { Key } from '../../../client/crypto/key.ts';
import { wrapIdentity } from '../../../client/identity/identities.ts';
import { createIdentity } from '../../../client/identity/identity.ts';
import { signPublication } from '../../../client/identity/publication.ts';
import { createReadNames } from '../../../client/sessions/account-names.ts';
import type { ReplacedKey } from '../../../client/keys/replaced-keys.ts';
import { createDeviceKey } from '../../../client/keys/device-key.ts';
import { makeLoginsOld } from '../../support/accounts/reauth-account.ts';
import { anyEnvelope } from '../../support/accounts/owner.ts';
import { connect, createUser } from '../../support/client/user.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startReadyVault } from '../../support/vault/vault.ts';

// The tests are serial: they share a user, since deriving keys from passwords takes long.
const test = anyTest.serial;

const vault = await startReadyVault();
const sql = createSql(vault);
const client = connect(vault);
const { session, credentials, masterKey } = await createUser(vault, client);
const { fingerprint } = await session.enableSharing();
const [account] = await sql('select id from accounts where email = $1', [credentials.email]);
const userId = String(account?.['id']);
anyTest.after.always(() => vault.stop());

const PublicKeys = z.object({ publicKey: Key, signingKey: Key });
const required = { code: 'reauth_required' };

/** Replaces a key of the user, as somebody could who stole an access token right after a login. */
async function replaceAsThief(path: string, json: object): Promise<void> {
  const headers = { 'if-match': '*' };
  await session.http.send({ method: 'PUT', path: `/v1/crypto/keys/${path}`, headers, json });
}

async function listReplaced(): Promise<ReplacedKey[]> {
  const keys: ReplacedKey[] = [];
  for await (const key of session.replacedKeys.list({ pageSize: 1 })) keys.push(key);
  return keys;
}

test('the password opens the master key again once its envelope is restored', async (t) => {
  await replaceAsThief('master-envelope', { encryptedEnvelope: anyEnvelope() });
  await t.throwsAsync(session.envelopes.openMasterKey(), { code: 'invalid_envelope' });
  const [replaced] = await listReplaced();
  t.like(replaced, { kind: 'MASTER', version: 1, fingerprint: null });

  await makeLoginsOld(vault, userId);
  const id = replaced?.id ?? '';
  await t.throwsAsync(session.replacedKeys.restore(id), required);
  const proof = await session.reauthenticate(credentials.password);
  t.deepEqual(await session.replacedKeys.restore(id, proof), { kind: 'MASTER', version: 3 });
  t.deepEqual(await session.envelopes.openMasterKey(), masterKey);
  await t.throwsAsync(session.replacedKeys.restore(id, proof), { code: 'not_found' });
});

test('a sharing key is found by its fingerprint and restored', async (t) => {
  const headers = await session.reauthenticate(credentials.password);
  const { http } = session;
  const stored = await http.json(PublicKeys, { method: 'GET', path: '/v1/crypto/keys/sharing' });
  const thief = await createIdentity();
  const names = await createReadNames(session)();
  const json = {
    ...(await wrapIdentity(new Uint8Array(randomBytes(32)), thief)),
    ...signPublication(names, thief, { published: stored, signer: undefined }),
  };
  await session.http.send({
    method: 'PUT',
    path: '/v1/crypto/keys/sharing',
    headers: { 'if-match': '*', 'x-reauth-token': headers.reauthToken },
    json,
  });
  await t.throwsAsync(session.enableSharing(), { code: 'invalid_envelope' });
  const own = (await listReplaced()).find((key) => key.fingerprint === fingerprint);
  await session.replacedKeys.restore(own?.id ?? '', headers);
  t.is((await session.enableSharing()).fingerprint, fingerprint);
});

test('an old session replaces an identity and its last way only with a proof', async (t) => {
  const stale = `update sharing_keys set public_key = $2, wrapped_private_key = $3,
    signing_key = $4, wrapped_signing_key = $5 where user_id = $1`;
  const [row] = await sql('select * from sharing_keys where user_id = $1', [userId]);
  const draft = await session.draftRekey({ password: credentials.password, keepPassword: true });
  await draft.confirm(draft.words);
  // The identity of before the rekey, as a client leaves it that sends no new one.
  const columns = ['public_key', 'wrapped_private_key', 'signing_key', 'wrapped_signing_key'];
  await sql(stale, [userId, ...columns.map((column) => row?.[column])]);
  const { password } = credentials;
  const later = await client.login({ ...credentials, password });
  await makeLoginsOld(vault, userId);
  await t.throwsAsync(later.enableSharing(), required);
  const proof = await later.reauthenticate(password);
  const renewed = await later.enableSharing(proof);
  t.not(renewed.fingerprint, fingerprint);
  t.deepEqual(await later.enableSharing(), renewed);

  const device = createDeviceKey();
  await later.devices.add({ ...device, name: 'Laptop', platform: 'Firefox' });
  await sql('update key_envelopes set proven = false where user_id = $1', [userId]);
  await t.throwsAsync(later.devices.revoke(device.deviceId), required);
  await later.devices.revoke(device.deviceId, { proof });
});
