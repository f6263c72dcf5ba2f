import anyTest, { type TestFn } from 'ava';
import type { PublicIdentity } from '../../../app/identities/public-identity.ts';
import { createOwner, reauthHeader, type Owner } from '../../support/accounts/owner.ts';
import { newSharingKey, withPossession } from '../../support/documents/sharing-keys.ts';
import { assertError } from '../../support/http/error-body.ts';
import { send, type JsonAnswer } from '../../support/http/send.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import { newMasterKey, newPassword } from './bodies.ts';

const test = anyTest as TestFn<{ vault: TestVault }>;

test.before(async (t) => {
  t.context.vault = await startReadyVault();
});
test.after.always((t) => t.context.vault.stop());

async function change(vault: TestVault, owner: Owner, json: object): Promise<JsonAnswer> {
  const headers = await reauthHeader(vault, owner);
  return send('PUT', `${vault.baseUrl}/v1/auth/credentials`, { token: owner.token, json, headers });
}

async function ask({ baseUrl }: TestVault, { token }: Owner, path: string): Promise<JsonAnswer> {
  return send('GET', `${baseUrl}/v1/crypto/keys/${path}`, { token });
}

/** Returns an identity as the owner must send it in place of the present one. */
function toSend<Json extends object>(vault: TestVault, owner: Owner, json: Json): Promise<Json> {
  return withPossession(owner.token, json, () => ask(vault, owner, 'sharing'));
}

function publicHalf({ publicKey, signingKey }: PublicIdentity): PublicIdentity {
  return { publicKey, signingKey };
}

async function put(vault: TestVault, owner: Owner, sent: object, headers = {}) {
  const { token } = owner;
  const json = await toSend(vault, owner, sent);
  return send('PUT', `${vault.baseUrl}/v1/crypto/keys/sharing`, { token, json, headers });
}

test('a new identity comes with a new master key, and no former one can be restored', async (t) => {
  const { vault } = t.context;
  const owner = await createOwner(vault);
  t.is((await put(vault, owner, newSharingKey())).status, 200);
  const headers = { ...(await reauthHeader(vault, owner)), 'If-Match': '*' };
  t.is((await put(vault, owner, newSharingKey(), headers)).status, 200);
  t.is((await ask(vault, owner, 'replaced')).text.match(/SHARING/g)?.length, 1);

  const identity = await toSend(vault, owner, newSharingKey());
  const { next, json } = newMasterKey(owner.account, []);
  t.is((await change(vault, owner, { ...json, identity })).status, 204);
  t.like((await ask(vault, owner, 'sharing')).body, { ...publicHalf(identity), version: 3 });
  t.deepEqual((await ask(vault, owner, 'replaced')).body, []);
  const entries = await createSql(vault)(
    `select canonical::json -> 'data' ->> 'version' as version from audit_entries
     where user_id = $1 and action = 'sharing_key.changed' order by seq`,
    [owner.userId],
  );
  t.deepEqual(
    entries.map(({ version }) => version),
    ['1', '2', '3'],
  );

  const again = newMasterKey(next, []);
  t.is((await change(vault, { ...owner, account: next }, again.json)).status, 204);
  t.like(
    (await ask(vault, owner, 'sharing')).body,
    { ...publicHalf(identity), version: 3 },
    'kept without one',
  );
});

test('a user without an identity gets one with a new master key', async (t) => {
  const { vault } = t.context;
  const owner = await createOwner(vault);
  const identity = await toSend(vault, owner, newSharingKey());
  const { json } = newMasterKey(owner.account, []);
  t.is((await change(vault, owner, { ...json, identity })).status, 204);
  t.like((await ask(vault, owner, 'sharing')).body, { ...publicHalf(identity), version: 1 });
});

test('a wrong identity, or one without a new master key, changes nothing', async (t) => {
  const { vault } = t.context;
  const owner = await createOwner(vault);
  const identity = await toSend(vault, owner, newSharingKey());
  const { json } = newMasterKey(owner.account, []);
  const password = newPassword(owner.account).json;
  const incomplete = { status: 400, code: 'rekey_incomplete' };
  assertError(t, await change(vault, owner, { ...password, identity }), incomplete);
  const { signingKey: _, ...withoutSigningKey } = identity;
  const { wrappedSigningKey: _wrapped, ...withoutWrapped } = identity;
  for (const wrong of [
    withoutSigningKey,
    withoutWrapped,
    { ...identity, signingKey: identity.wrappedPrivateKey },
    { ...identity, publicKey: 'AAAA' },
    { ...identity, name: 'jam' },
    null,
  ]) {
    const answer = await change(vault, owner, { ...json, identity: wrong });
    assertError(t, answer, { status: 400, code: 'validation_failed' });
  }
  t.is((await ask(vault, owner, 'sharing')).status, 404);
});
