import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { Scope } from '../../app/accounts/rights.ts';
import { makeLoginsOld } from '../support/accounts/reauth-account.ts';
import {
  anyEnvelope,
  ask,
  createDevice,
  createMaster,
  createOwner,
  reauthHeader,
} from '../support/accounts/owner.ts';
import { newSharingKey, withPossession } from '../support/documents/sharing-keys.ts';
import { certify, storeDocument } from '../support/documents/documents.ts';
import { createApi } from '../support/documents/uploads.ts';
import { assertError } from '../support/http/error-body.ts';
import { send, type JsonAnswer } from '../support/http/send.ts';
import { startKeyServer } from '../support/issuers/key-server.ts';
import { createSigningKey } from '../support/issuers/signing-key.ts';
import { testIssuer } from '../support/issuers/test-issuer.ts';
import { createSql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';

interface Scene {
  readonly vault: TestVault;
  readonly stop: () => Promise<void>;
  /** Signs a token of another issuer for a user with every scope. */
  sign(claims?: Record<string, unknown>): Promise<string>;
}

const test = anyTest as TestFn<Scene>;

const now = () => Math.floor(Date.now() / 1000);

test.before(async (t) => {
  const server = await startKeyServer();
  const key = await createSigningKey();
  server.publish(key.jwk);
  const scopes = [...Scope.options];
  const roles = ['user', 'probatio_admin'];
  const issuer = { ...testIssuer(server.url), grants: { roles, scopes, tenants: ['default'] } };
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-proofs-'));
  const file = path.join(directory, 'issuers.json');
  await writeFile(file, JSON.stringify([issuer]));
  const vault = await startReadyVault({ AUTH_ISSUERS_FILE: file });
  t.context = {
    vault,
    async stop() {
      await vault.stop();
      await server.close();
      await rm(directory, { recursive: true });
    },
    sign: (claims) =>
      key.sign({
        iss: issuer.issuer,
        aud: issuer.audience,
        exp: now() + 900,
        tenant_id: 'default',
        authz: { roles: ['user'], scopes },
        ...claims,
      }),
  };
});

test.after.always((t) => t.context.stop());

type Headers = Readonly<Record<string, string>>;

interface Action {
  readonly status: number;
  act(headers: Headers): Promise<JsonAnswer>;
}

/** Stores the keys of a user, and returns each action on them that needs a fresh proof. */
async function createActions(
  vault: TestVault,
  token: string,
  proven: Headers,
): Promise<Record<string, Action>> {
  const put = (route: string, json: () => object | Promise<object>) => ({
    status: 200,
    act: async (headers: Headers) =>
      ask(vault, token, 'PUT', route, {
        json: await json(),
        headers: { 'If-Match': '*', ...headers },
      }),
  });
  const envelope = () => ({ encryptedEnvelope: anyEnvelope() });
  const deviceId = await createDevice(vault, token);
  await createMaster(vault, token);
  await ask(vault, token, 'POST', '/recovery-envelope', { json: envelope() });
  const newKey = () =>
    withPossession(token, newSharingKey(), () => ask(vault, token, 'GET', '/sharing'));
  await ask(vault, token, 'PUT', '/sharing', { json: await newKey() });
  const sharing = put('/sharing', newKey);
  const replaced = await sharing.act(proven);
  if (replaced.status !== 200) throw new Error(replaced.text);
  const { body } = await ask(vault, token, 'GET', '/replaced');
  const [{ id } = { id: '' }] = body as { readonly id: string }[];
  return {
    'replaces the master envelope': put('/master-envelope', envelope),
    'replaces the recovery envelope': put('/recovery-envelope', envelope),
    'replaces the sharing key': sharing,
    'restores a replaced key': {
      status: 200,
      act: (headers) => ask(vault, token, 'POST', `/replaced/${id}/restore`, { headers }),
    },
    'removes the last way to the master key': {
      status: 204,
      act: async (headers) => {
        await createSql(vault)(
          `update key_envelopes set proven = device_id is not null
           where user_id = (select user_id from devices where device_id = $1)`,
          [deviceId],
        );
        return ask(vault, token, 'DELETE', `/devices/${deviceId}`, { headers });
      },
    },
  };
}

test('an access token from an old login neither replaces nor removes keys', async (t) => {
  const { vault } = t.context;
  const owner = await createOwner(vault);
  const actions = await createActions(vault, owner.token, await reauthHeader(vault, owner));
  await makeLoginsOld(vault, owner.userId);
  const sql = createSql(vault);
  const stored = () =>
    sql(
      `select id::text, version, encrypted_envelope from key_envelopes where user_id = $1
       union all select user_id::text, version, wrapped_private_key from sharing_keys
       where user_id = $1 order by 1, 2`,
      [owner.userId],
    );
  const before = await stored();
  for (const [what, { act }] of Object.entries(actions)) {
    assertError(t, await act({}), { status: 401, code: 'reauth_required' }, what);
    const wrong = await act({ 'X-Reauth-Token': owner.token });
    assertError(t, wrong, { status: 401, code: 'reauth_invalid' }, what);
  }
  t.deepEqual(await stored(), before);
  const proof = await reauthHeader(vault, owner);
  for (const [what, { act, status }] of Object.entries(actions)) {
    const answer = await act(proof);
    t.is(answer.status, status, `${what}: ${answer.text}`);
  }
});

test('a login of just now is a proof unless a wrong token comes with it', async (t) => {
  const { vault } = t.context;
  const { token } = await createOwner(vault);
  const actions = await createActions(vault, token, {});
  for (const [what, { act, status }] of Object.entries(actions)) {
    const wrong = await act({ 'X-Reauth-Token': 'jam' });
    assertError(t, wrong, { status: 401, code: 'reauth_invalid' }, what);
    const answer = await act({});
    t.is(answer.status, status, `${what}: ${answer.text}`);
  }
});

/** The claim auth_time, and whether it is a proof. */
const times: [what: string, claims: () => Record<string, unknown>, isProof: boolean][] = [
  ['of now', () => ({ auth_time: now() }), true],
  ['of 4 minutes ago', () => ({ auth_time: now() - 240 }), true],
  ['of 10 s in the future, as clocks differ', () => ({ auth_time: now() + 10 }), true],
  ['of 5 minutes ago', () => ({ auth_time: now() - 300 }), false],
  ['of the far future', () => ({ auth_time: now() + 3600 }), false],
  ['that is text', () => ({ auth_time: String(now()) }), false],
  ['that is no time', () => ({ auth_time: 1e300 }), false],
  ['that is missing, with a fresh token', () => ({ iat: now() }), false],
];

for (const [what, claims, isProof] of times) {
  const title = `an auth_time ${what} is ${isProof ? 'a' : 'no'} fresh proof`;
  test(title, async (t) => {
    const { vault, sign } = t.context;
    const sub = randomUUID();
    const fresh = await sign({ sub, auth_time: now() });
    const deviceId = await createDevice(vault, fresh);
    await createMaster(vault, fresh);
    const token = await sign({ sub, ...claims() });
    const json = { encryptedEnvelope: anyEnvelope() };
    const headers = { 'If-Match': '*' };
    const answer = await ask(vault, token, 'PUT', '/master-envelope', { json, headers });
    if (isProof) t.is(answer.status, 200, answer.text);
    else assertError(t, answer, { status: 401, code: 'reauth_required' });
    // The master envelope is another way, so no proof is needed.
    t.is((await ask(vault, token, 'DELETE', `/devices/${deviceId}`)).status, 204);
  });
}

test('an admin of another issuer deletes sealed documents with a fresh login', async (t) => {
  const { vault, sign } = t.context;
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  const { id: unsealed } = await storeDocument(t, api);
  await certify(api, id);
  const authz = { roles: ['user', 'probatio_admin'], scopes: ['documents:write'] };
  const remove = async (documentId: string, authTime?: number) => {
    const token = await sign({ sub: 'admin', authz, auth_time: authTime });
    return send('DELETE', `${vault.baseUrl}/v1/documents/${documentId}`, { token });
  };
  t.is((await remove(unsealed)).status, 204, 'an unsealed document needs no proof');
  for (const authTime of [undefined, now() - 300]) {
    const refused = { status: 401, code: 'reauth_required' };
    assertError(t, await remove(id, authTime), refused);
  }
  t.is((await api.send('GET', `/v1/documents/${id}`)).body.status, 'SEALED');
  t.is((await remove(id, now())).status, 204);
});

test('a platform role that a token of another issuer claims is ignored', async (t) => {
  const { vault, sign } = t.context;
  const api = await createApi(vault, { tenantId: 'acme' });
  const { id } = await storeDocument(t, api);
  await certify(api, id);
  const roles = ['user', 'platform_admin', 'platform_auditor', 'platform_operator'];
  const authz = { roles, scopes: [...Scope.options] };
  const token = await sign({ sub: randomUUID(), auth_time: now(), authz });
  const at = (method: string, url: string) => send(method, `${vault.baseUrl}${url}`, { token });
  assertError(t, await at('DELETE', `/v1/documents/${id}`), { status: 404, code: 'not_found' });
  const queue = await at('GET', '/v1/audit/proof/dlq/stats');
  assertError(t, queue, { status: 403, code: 'access_denied' });
  const none = { entries: [], archivedMonths: [] };
  t.deepEqual((await at('GET', '/v1/audit/entries')).body, none);
});
