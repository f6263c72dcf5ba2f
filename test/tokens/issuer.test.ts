import test from 'ava';
import { createLocalJWKSet, createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { rfc5054Group3072 } from '../../client/srp/group.ts';
import { createAccount, logIn, type TestAccount } from '../support/accounts/test-account.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { getJson } from '../support/http/send.ts';

let vault: TestVault;
let account: TestAccount;

test.before(async () => {
  vault = await startReadyVault();
  account = await createAccount(vault);
});
test.after.always(() => vault.stop());

test('the access token has exactly the documented header and claims', async (t) => {
  const token = await logIn(vault, account);
  const { alg, typ, kid, ...others } = decodeProtectedHeader(token);
  t.deepEqual({ alg, typ, others }, { alg: 'RS256', typ: 'at+jwt', others: {} });
  t.regex(kid ?? '', /^[0-9a-f]{32}$/);

  const keySet = createRemoteJWKSet(new URL(`${vault.baseUrl}/.well-known/jwks.json`));
  const { payload } = await jwtVerify(token, keySet, {
    issuer: vault.config.auth.issuer,
    audience: vault.config.auth.audience,
    typ: 'at+jwt',
    algorithms: ['RS256'],
  });
  const { iss, sub, aud, exp = 0, iat = 0, jti, authz, tenant_id, plan, sid, ...rest } = payload;
  t.deepEqual(rest, {});
  t.deepEqual({ iss, aud }, { iss: 'http://vault.test', aud: 'probatio' });
  t.is(exp - iat, 900);
  t.true(Math.abs(iat - Date.now() / 1000) < 60);
  t.deepEqual({ tenant_id, plan }, { tenant_id: 'default', plan: 'standard' });
  const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
  for (const id of [sub, jti, sid]) t.regex(String(id), uuid);
  t.deepEqual(authz, {
    roles: ['user'],
    scopes: [
      'documents:read',
      'documents:write',
      'uploads:write',
      'keys:manage',
      'audit:read',
      'jobs:submit',
      'sync:read',
      'sync:write',
      'mfa:manage',
    ],
  });
});

test('every login has its own session and token, for the same user', async (t) => {
  const keySet = createLocalJWKSet(
    (await getJson(`${vault.baseUrl}/.well-known/jwks.json`)).body as { keys: [] },
  );
  const [one, other] = await Promise.all(
    [await logIn(vault, account), await logIn(vault, account)].map(
      async (token) => (await jwtVerify(token, keySet)).payload,
    ),
  );
  t.is(one?.sub, other?.sub);
  t.not(one?.['sid'], other?.['sid']);
  t.not(one?.jti, other?.jti);
});

test('the key set contains public keys only', async (t) => {
  const { body, headers } = await getJson(`${vault.baseUrl}/.well-known/jwks.json`);
  const { keys } = body as { keys: Record<string, string>[] };
  t.true(keys.length > 0);
  for (const key of keys) {
    t.deepEqual(Object.keys(key).sort(), ['alg', 'e', 'kid', 'kty', 'n', 'use']);
    t.true(Buffer.from(key['n'] ?? '', 'base64url').length >= 256);
  }
  t.regex(headers.get('cache-control') ?? '', /max-age/);
});

test('the discovery document leads to the key set', async (t) => {
  const { body } = await getJson(`${vault.baseUrl}/.well-known/openid-configuration`);
  const { issuer, jwks_uri } = body as Record<string, string>;
  t.is(issuer, 'http://vault.test');
  t.is(jwks_uri, 'http://vault.test/.well-known/jwks.json');
});

test('the SRP parameters match the contract and may be cached', async (t) => {
  const { body, headers } = await getJson(`${vault.baseUrl}/v1/auth/srp-params`);
  t.deepEqual(body, {
    group: 'rfc5054-3072',
    N: rfc5054Group3072.N.toString(16),
    g: 2,
    hash: 'SHA3-256',
    kdf: {
      name: 'argon2id',
      version: 19,
      memoryKiB: 65_536,
      iterations: 3,
      parallelism: 1,
      outputBytes: 32,
      context: 'Service_SRP_Auth_v1',
    },
  });
  t.regex(headers.get('cache-control') ?? '', /max-age/);
});
