import { randomUUID } from 'node:crypto';
import test from 'ava';
import { makeLoginsOld } from '../support/accounts/reauth-account.ts';
import {
  anyEnvelope,
  ask,
  createDevice,
  createMaster,
  createOwner,
  reauthHeader,
  type Owner,
} from '../support/accounts/owner.ts';
import {
  createRecoverable,
  recover,
  recoveryFields,
  recoveryToken,
} from '../support/accounts/recovery-account.ts';
import { inventAccount } from '../support/accounts/test-account.ts';
import { countStatuses } from '../support/documents/files.ts';
import { newSharingKey, withPossession } from '../support/documents/sharing-keys.ts';
import { assertError } from '../support/http/error-body.ts';
import { send } from '../support/http/send.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { nextPage } from '../support/http/next-page.ts';

interface Listed {
  readonly id: string;
  readonly kind: string;
  readonly version: number;
  readonly fingerprint: string | null;
}

let vault: TestVault;
let sql: Sql;

test.before(async () => {
  vault = await startReadyVault();
  sql = createSql(vault);
});
test.after.always(() => vault.stop());

const notFound = { status: 404, code: 'not_found' };

async function listReplaced({ token }: Owner): Promise<Listed[]> {
  const answer = await ask(vault, token, 'GET', '/replaced');
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.body as Listed[];
}

async function put({ token }: Owner, path: string, sent: object, headers = {}) {
  const json = await withPossession(token, sent, () => ask(vault, token, 'GET', '/sharing'));
  return ask(vault, token, 'PUT', path, { json, headers });
}

const replace = (owner: Owner, path: string, json: object, headers = {}) =>
  put(owner, path, json, { 'If-Match': '*', ...headers });

const restore = ({ token }: Owner, id: string, headers = {}) =>
  ask(vault, token, 'POST', `/replaced/${id}/restore`, { headers });

async function contentOf({ token }: Owner, path: string): Promise<string> {
  const { body } = await ask(vault, token, 'GET', path);
  const { encryptedEnvelope, publicKey } = body as Record<string, string>;
  return encryptedEnvelope ?? publicKey ?? '';
}

/** Returns the actions of a user's entries about keys and credentials, oldest first. */
async function actionsOf({ userId }: Owner): Promise<unknown[]> {
  const rows = await sql(
    `select action from audit_entries where user_id = $1
       and (action like '%key%' or action like 'envelope.%' or action like 'credentials.%')
     order by id`,
    [userId],
  );
  return rows.map(({ action }) => action);
}

test('a replaced master envelope is listed without its content and can be restored', async (t) => {
  const owner = await createOwner(vault);
  const first = await createMaster(vault, owner.token);
  const second = { encryptedEnvelope: anyEnvelope() };
  t.is((await replace(owner, '/master-envelope', second)).status, 200);

  const answer = await ask(vault, owner.token, 'GET', '/replaced');
  t.is(answer.headers.get('cache-control'), 'no-store');
  t.false(answer.text.includes(first));
  const [kept, ...others] = await listReplaced(owner);
  t.deepEqual(others, []);
  t.like(kept, { kind: 'MASTER', version: 1, fingerprint: null });

  await makeLoginsOld(vault, owner.userId);
  const id = kept?.id ?? '';
  assertError(t, await restore(owner, id), { status: 401, code: 'reauth_required' });
  const proof = await reauthHeader(vault, owner);
  const restored = await restore(owner, id, proof);
  t.is(restored.status, 200, restored.text);
  t.deepEqual(restored.body, { kind: 'MASTER', version: 3 });
  t.is(await contentOf(owner, '/master-envelope'), first);
  t.like(await listReplaced(owner), [{ kind: 'MASTER', version: 2 }]);
  assertError(t, await restore(owner, id, proof), notFound);
  t.deepEqual(await actionsOf(owner), [
    'envelope.created',
    'envelope.replaced',
    'envelope.restored',
  ]);
});

test('a replaced sharing key is restored with its private key', async (t) => {
  const owner = await createOwner(vault);
  const first = newSharingKey();
  await put(owner, '/sharing', first);
  t.is((await replace(owner, '/sharing', newSharingKey())).status, 200);
  const [kept] = await listReplaced(owner);
  t.like(kept, { kind: 'SHARING', version: 1 });
  t.regex(kept?.fingerprint ?? '', /^[0-9a-f]{32}$/);
  t.deepEqual((await restore(owner, kept?.id ?? '')).body, { kind: 'SHARING', version: 3 });
  t.like((await ask(vault, owner.token, 'GET', '/sharing')).body, { ...first, version: 3 });
  t.deepEqual(await actionsOf(owner), [
    'sharing_key.changed',
    'sharing_key.changed',
    'sharing_key.restored',
  ]);
});

test('recovery words that were replaced log in again once they are restored', async (t) => {
  const owner = await createRecoverable(vault);
  const { email } = owner.account;
  const words = inventAccount();
  const json = { encryptedEnvelope: anyEnvelope(), ...recoveryFields(words) };
  const proof = await reauthHeader(vault, owner);
  t.is((await replace(owner, '/recovery-envelope', json, proof)).status, 200);
  t.is((await recover(vault, email, owner.words)).status, 401);
  const thief = await recoveryToken(vault, { ...owner, words });

  const [kept] = await listReplaced(owner);
  t.is((await restore(owner, kept?.id ?? '')).status, 200);
  t.is((await recover(vault, email, owner.words)).status, 200);
  t.is((await recover(vault, email, words)).status, 401);
  t.is(await contentOf(owner, '/recovery-envelope'), owner.encryptedEnvelope);
  const change = await send('PUT', `${vault.baseUrl}/v1/auth/credentials`, {
    token: thief,
    json: { salt: 'ab'.repeat(32), verifier: words.verifierHex, masterEnvelope: anyEnvelope() },
  });
  assertError(t, change, { status: 401, code: 'invalid_token' });
  t.is((await actionsOf(owner)).at(-1), 'envelope.restored');
});

test('a restored envelope of words that did not log in ends recovery logins', async (t) => {
  const owner = await createOwner(vault);
  const first = { encryptedEnvelope: anyEnvelope() };
  await ask(vault, owner.token, 'POST', '/recovery-envelope', { json: first });
  const words = inventAccount();
  const json = { encryptedEnvelope: anyEnvelope(), ...recoveryFields(words) };
  const proof = await reauthHeader(vault, owner);
  t.is((await replace(owner, '/recovery-envelope', json, proof)).status, 200);
  t.is((await recover(vault, owner.account.email, words)).status, 200);
  const [kept] = await listReplaced(owner);
  t.is((await restore(owner, kept?.id ?? '')).status, 200);
  t.not((await recover(vault, owner.account.email, words)).status, 200);
  t.true((await actionsOf(owner)).includes('credentials.removed'));
  t.is(await contentOf(owner, '/recovery-envelope'), first.encryptedEnvelope);
});

/** Sets a new password, with a new master key if `deviceIds` are given. */
async function changePassword(owner: Owner, deviceIds?: readonly string[]) {
  const { saltHex: salt, verifierHex: verifier } = inventAccount();
  const rekey = {
    recovery: { encryptedEnvelope: anyEnvelope(), ...recoveryFields(inventAccount()) },
    devices: (deviceIds ?? []).map((deviceId) => ({ deviceId, encryptedEnvelope: anyEnvelope() })),
    keyring: anyEnvelope(),
  };
  return send('PUT', `${vault.baseUrl}/v1/auth/credentials`, {
    token: owner.token,
    headers: await reauthHeader(vault, owner),
    json: {
      salt,
      verifier,
      masterEnvelope: anyEnvelope(),
      ...(deviceIds === undefined ? {} : rekey),
    },
  });
}

/** Creates a user with a replaced key of each kind. */
async function createReplacements(): Promise<Owner> {
  const owner = await createOwner(vault);
  await createMaster(vault, owner.token);
  const envelope = { encryptedEnvelope: anyEnvelope() };
  await ask(vault, owner.token, 'POST', '/recovery-envelope', { json: envelope });
  await put(owner, '/sharing', newSharingKey());
  await replace(owner, '/master-envelope', envelope);
  await replace(owner, '/recovery-envelope', envelope);
  await replace(owner, '/sharing', newSharingKey());
  return owner;
}

const kindsOf = async (owner: Owner) =>
  (await listReplaced(owner)).map(({ kind }) => kind).toSorted();

test('what a new password or a rekey replaces cannot be restored', async (t) => {
  const owner = await createReplacements();
  t.deepEqual(await kindsOf(owner), ['MASTER', 'RECOVERY', 'SHARING']);
  t.is((await changePassword(owner)).status, 204);
  t.deepEqual(await kindsOf(owner), ['RECOVERY', 'SHARING']);

  const other = await createReplacements();
  const deviceId = await createDevice(vault, other.token);
  t.is((await changePassword(other, [deviceId])).status, 204);
  t.deepEqual(await kindsOf(other), ['SHARING']);
});

test('the end of the account removes its replaced keys', async (t) => {
  const owner = await createReplacements();
  const headers = await reauthHeader(vault, owner);
  const { token, userId } = owner;
  const closed = await send('DELETE', `${vault.baseUrl}/v1/auth/account`, { token, headers });
  t.is(closed.status, 204);
  t.deepEqual(await sql('select 1 from replaced_keys where user_id = $1', [userId]), []);
});

test('after 30 days a replaced key is neither listed nor restored', async (t) => {
  const owner = await createReplacements();
  const age = (days: number) =>
    sql(
      'update replaced_keys set replaced_at = now() - make_interval(days => $2) where user_id = $1',
      [owner.userId, days],
    );
  const [{ id } = { id: '' }] = await listReplaced(owner);
  await age(29);
  t.is((await listReplaced(owner)).length, 3);
  await age(30);
  t.deepEqual(await listReplaced(owner), []);
  assertError(t, await restore(owner, id), notFound);
});

test('another user can neither see nor restore a replaced key', async (t) => {
  const owner = await createReplacements();
  const stranger = await createReplacements();
  for (const { id } of await listReplaced(owner)) {
    assertError(t, await restore(stranger, id), notFound);
  }
  t.is((await listReplaced(owner)).length, 3);
  assertError(t, await restore(owner, randomUUID()), notFound);
  const bad = { status: 400, code: 'validation_failed' };
  assertError(t, await restore(owner, 'jam'), bad);
});

test('a thief cannot push out the first key: the 21st replacement is refused', async (t) => {
  const owner = await createOwner(vault);
  const first = await createMaster(vault, owner.token);
  for (let i = 0; i < 20; i += 1) {
    const answer = await replace(owner, '/master-envelope', { encryptedEnvelope: anyEnvelope() });
    t.is(answer.status, 200, answer.text);
  }
  const last = await replace(owner, '/master-envelope', { encryptedEnvelope: anyEnvelope() });
  const body = assertError(t, last, { status: 429, code: 'quota_exceeded' });
  t.is(body.details?.[0]?.path, 'replacedKeys');
  const seconds = Number(last.headers.get('retry-after'));
  t.true(seconds > 29 * 86_400 && seconds <= 30 * 86_400, String(seconds));

  const oldest = (await listReplaced(owner)).at(-1);
  t.is((await restore(owner, oldest?.id ?? '')).status, 200, 'a restoration is still possible');
  t.is(await contentOf(owner, '/master-envelope'), first);
});

test('replaced keys are listed in pages', async (t) => {
  const owner = await createReplacements();
  const { token } = owner;
  const page = await ask(vault, token, 'GET', '/replaced?limit=2');
  const next = nextPage('/replaced', page.headers);
  const rest = await ask(vault, token, 'GET', next ?? '/none');
  t.is(rest.headers.get('link'), null);
  t.deepEqual([...(page.body as Listed[]), ...(rest.body as Listed[])], await listReplaced(owner));
});

test('one of concurrent restorations of a key succeeds, and nothing is lost', async (t) => {
  for (const path of ['/master-envelope', '/recovery-envelope', '/sharing']) {
    const owner = await createReplacements();
    const kind = path === '/sharing' ? 'SHARING' : path.slice(1).split('-')[0]?.toUpperCase();
    const kept = (await listReplaced(owner)).find((replaced) => replaced.kind === kind);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => restore(owner, kept?.id ?? '')),
    );
    t.deepEqual(countStatuses(answers), { 200: 1, 404: 9 }, path);
    t.is((await listReplaced(owner)).length, 3, path);
  }
});
