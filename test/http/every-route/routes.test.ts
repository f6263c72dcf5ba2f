import { createHmac, generateKeyPairSync, randomUUID } from 'node:crypto';
import test from 'ava';
import { SignJWT, UnsecuredJWT } from 'jose';
import { listRoutes } from '../../../app/wiring/routes.ts';
import { createAccount, logIn } from '../../support/accounts/test-account.ts';
import { trustKey, type TrustedKey } from '../../support/accounts/trusted-key.ts';
import { type TestVault, startReadyVault } from '../../support/vault/vault.ts';
import { assertError, assertSecurityHeaders } from '../../support/http/error-body.ts';
import { send } from '../../support/http/send.ts';

let vault: TestVault;
let key: TrustedKey;
let token: string;

test.before(async () => {
  vault = await startReadyVault();
  key = await trustKey(vault);
  token = await logIn(vault, await createAccount(vault));
});
test.after.always(() => vault.stop());

const routes = listRoutes().flatMap(({ path, aliases = [], method, access }) =>
  [path, ...aliases].map((name) => ({
    method: method.toUpperCase(),
    name,
    access,
    path: name.replace(':partNumber', '1').replace(/:\w+/g, randomUUID()),
  })),
);
const publicRoutes = routes.filter(({ access }) => access === 'public');
const internalRoutes = routes.filter(({ access }) => access === 'internal');
const protectedRoutes = routes.flatMap(({ access, ...route }) =>
  typeof access === 'object' ? [{ ...route, access }] : [],
);

const hour = 3600;
const now = () => Math.floor(Date.now() / 1000);
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;

function withHeader(header: Record<string, unknown>, from: string): string {
  const [, payload = ''] = from.split('.');
  return `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}`;
}

/** Signs with the public key as HMAC secret, the classic algorithm confusion. */
async function confused(): Promise<string> {
  const pem = key.publicKey.export({ type: 'spki', format: 'pem' });
  const input = withHeader({ alg: 'HS256', typ: 'at+jwt', kid: key.keyId }, await key.sign());
  return `${input}.${createHmac('sha256', pem).update(input).digest('base64url')}`;
}

async function tampered(): Promise<string> {
  const [header, , signature] = (await key.sign()).split('.');
  const [, payload] = (await key.sign({ tenant_id: 'other' })).split('.');
  return `${header}.${payload}.${signature}`;
}

/** [the fault of the token, the token, the code] */
const refusedTokens: [string, () => Promise<string>, string][] = [
  ['not a JWT', async () => 'jam', 'invalid_token'],
  ['two dots', async () => '..', 'invalid_token'],
  ['five parts', async () => 'a.b.c.d.e', 'invalid_token'],
  ['no signature', async () => (await key.sign()).replace(/\.[^.]*$/, '.'), 'invalid_token'],
  ['another payload', tampered, 'invalid_token'],
  ['alg none', async () => unsecured(), 'invalid_token'],
  ['alg HS256', confused, 'invalid_token'],
  ['an unknown kid', () => key.sign({}, { kid: '0'.repeat(32) }), 'invalid_token'],
  [
    'the kid of a key that signs entries',
    async () => key.sign({}, { kid: await auditKeyId() }),
    'invalid_token',
  ],
  ['no kid', () => key.sign({}, { kid: undefined }), 'invalid_token'],
  ['a stranger’s key', () => signedBy(stranger), 'invalid_token'],
  ['typ JWT', () => key.sign({}, { typ: 'JWT' }), 'invalid_token'],
  ['no typ', () => key.sign({}, { typ: undefined }), 'invalid_token'],
  ['typ reauth+jwt', () => key.sign({}, { typ: 'reauth+jwt' }), 'invalid_token'],
  [
    'an unknown critical header',
    () => key.sign({}, { crit: ['jam'], jam: 1 }).catch(() => 'jam'),
    'invalid_token',
  ],
  ['expired', () => key.sign({ iat: now() - hour, exp: now() - 31 }), 'token_expired'],
  ['not yet valid', () => key.sign({ nbf: now() + hour }), 'invalid_token'],
  ['no exp', () => key.sign({ exp: undefined }), 'invalid_token'],
  ['an exp that is not a number', () => key.sign({ exp: 'never' }), 'invalid_token'],
  ['another issuer', () => key.sign({ iss: 'https://elsewhere.test' }), 'invalid_issuer'],
  ['no issuer', () => key.sign({ iss: undefined }), 'invalid_issuer'],
  ['another audience', () => key.sign({ aud: 'elsewhere' }), 'invalid_audience'],
  ['no audience', () => key.sign({ aud: undefined }), 'invalid_audience'],
  ['no sub', () => key.sign({ sub: undefined }), 'invalid_token'],
  ['a sub that is not an id', () => key.sign({ sub: "x' or 1=1" }), 'invalid_token'],
  ['no sid', () => key.sign({ sid: undefined }), 'invalid_token'],
  ['no authz', () => key.sign({ authz: undefined }), 'invalid_token'],
  [
    'scopes that are not a list',
    () => key.sign({ authz: { roles: [], scopes: '*' } }),
    'invalid_token',
  ],
];

function unsecured(): string {
  const { issuer, audience } = vault.config.auth;
  return new UnsecuredJWT({ sub: randomUUID() })
    .setIssuer(issuer)
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime('10m')
    .encode();
}

async function signedBy(privateKey: typeof stranger): Promise<string> {
  const [, payload = ''] = (await key.sign()).split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: key.keyId })
    .sign(privateKey);
}

async function auditKeyId(): Promise<string> {
  const keys = await vault.services.registry.list();
  return keys.find(({ purpose }) => purpose === 'audit')?.keyId ?? '';
}

test('the key that these tests sign with is accepted by the vault', async (t) => {
  const answer = await send('GET', `${vault.baseUrl}/v1/documents`, { token: await key.sign() });
  t.is(answer.status, 200, answer.text);
});

for (const { method, name, path, access } of protectedRoutes) {
  test(`${method} ${name} refuses every invalid token`, async (t) => {
    const url = `${vault.baseUrl}${path}`;
    for (const [what, make, code] of refusedTokens) {
      const answer = await send(method, url, { token: await make() });
      assertError(t, answer, { status: 401, code }, what);
      t.regex(answer.headers.get('www-authenticate') ?? '', /^Bearer error="invalid_token"/, what);
    }
  });

  test(`${method} ${name} refuses a caller without a token`, async (t) => {
    const url = `${vault.baseUrl}${path}`;
    const authorizations = [
      '',
      'Bearer',
      'Bearer ',
      `Basic ${token}`,
      token,
      `Bearer a b`,
      'Bearer é',
    ];
    for (const authorization of authorizations) {
      const answer = await send(method, url, { headers: { Authorization: authorization } });
      assertError(t, answer, { status: 401, code: 'invalid_token' }, authorization);
    }
    assertError(t, await send(method, `${url}?access_token=${token}`), {
      status: 401,
      code: 'invalid_token',
    });
  });

  test(`${method} ${name} refuses a token without its role or scope`, async (t) => {
    const url = `${vault.baseUrl}${path}`;
    const nothing = { roles: [], scopes: [] };
    const wrongScopes = { roles: ['user'], scopes: ['none', 'documents', 'documents:*', '*'] };
    for (const authz of access.scopes === undefined ? [nothing] : [nothing, wrongScopes]) {
      const answer = await send(method, url, { token: await key.sign({ authz }) });
      assertError(t, answer, { status: 403, code: 'access_denied' });
    }
  });

  test(`${method} ${name} accepts a valid token`, async (t) => {
    // The token names a login session that no route can end.
    const authz = { roles: access.roles ?? ['user'], scopes: access.scopes ?? [] };
    const good = { token: await key.sign({ authz }) };
    const answer = await send(method, `${vault.baseUrl}${path}`, good);
    if (access.reauth === true) {
      assertError(t, answer, { status: 401, code: 'reauth_required' });
      return;
    }
    if (method === 'GET' && name.startsWith('/v1/sync')) {
      assertError(t, answer, { status: 401, code: 'device_required' });
      return;
    }
    const { status, headers, text } = answer;
    t.false([401, 403, 405].includes(status) || status >= 500, text);
    assertSecurityHeaders(t, headers);
  });
}

for (const { method, name, path } of internalRoutes) {
  test(`${method} ${name} refuses an access token in place of an internal key`, async (t) => {
    const authz = { roles: ['user', 'operator', 'probatio_admin'], scopes: [] };
    for (const options of [{}, { token: await key.sign({ authz }) }]) {
      const answer = await send(method, `${vault.baseUrl}${path}`, options);
      assertError(t, answer, { status: 401, code: 'invalid_api_key' });
    }
  });
}

for (const { method, name, path } of publicRoutes) {
  test(`${method} ${name} responds without a token and ignores one`, async (t) => {
    for (const authorization of ['', 'Bearer jam']) {
      const headers = { Authorization: authorization };
      const answer = await send(method, `${vault.baseUrl}${path}`, { headers });
      t.true([200, 415].includes(answer.status), answer.text);
      assertSecurityHeaders(t, answer.headers);
    }
  });
}

// This test runs before the hundreds of others, which may delay a request for seconds.
test.serial('a token is accepted for 30 seconds after its end, since clocks differ', async (t) => {
  const late = await key.sign({ iat: now() - 900, exp: now() - 10 });
  t.is((await send('GET', `${vault.baseUrl}/v1/documents`, { token: late })).status, 200);
});

test('the authorization scheme is accepted in any case', async (t) => {
  const headers = { Authorization: `bEARER ${token}` };
  t.is((await send('GET', `${vault.baseUrl}/v1/documents`, { headers })).status, 200);
});

test('an access token in a cookie is ignored', async (t) => {
  const headers = { Cookie: `access_token=${token}` };
  const answer = await send('GET', `${vault.baseUrl}/v1/documents`, { headers });
  assertError(t, answer, { status: 401, code: 'invalid_token' });
});
