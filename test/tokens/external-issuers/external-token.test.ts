import { createHmac, generateKeyPairSync } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { SignJWT, type JWTPayload } from 'jose';
import {
  createExternalTokens,
  type ExternalToken,
} from '../../../app/tokens/external-issuers/external-token.ts';
import type { ErrorCode } from '../../../app/errors/error-codes.ts';
import { createSigningKey } from '../../support/issuers/signing-key.ts';
import { startTestIssuer, throwsCode, type TestIssuer } from '../../support/issuers/test-issuer.ts';

interface Verifier extends TestIssuer {
  verify(token: string): Promise<ExternalToken>;
  /** Signs and verifies a token with these claims. */
  present(changes?: JWTPayload, header?: Record<string, unknown>): Promise<ExternalToken>;
}

async function startVerifier(t: ExecutionContext, settings = {}): Promise<Verifier> {
  const issuer = await startTestIssuer(t, settings);
  const { config, clock, key, claims } = issuer;
  const verify = createExternalTokens({ config, clock, keys: issuer.startKeySet() });
  return {
    ...issuer,
    verify,
    present: async (changes, header) => verify(await key.sign(claims(changes), header)),
  };
}

test('a token gets the roles and scopes that its issuer may grant, and no others', async (t) => {
  const { present, config } = await startVerifier(t);
  const token = await present({
    sub: 'someone',
    exp: 4_102_444_800,
    authz: { roles: ['auditor', 'probatio_admin'], scopes: ['documents:read', 'keys:manage'] },
    tenant_id: 'two',
    plan: 'large',
    sid: 'session-1',
  });
  t.deepEqual(token, {
    issuer: config.issuer,
    subject: 'someone',
    tenantId: 'two',
    plan: 'large',
    roles: ['auditor'],
    scopes: ['documents:read'],
    sessionId: 'session-1',
    expiresAt: new Date('2100-01-01'),
    authenticatedAt: undefined,
  });
});

test('a token says when its user last proved who they are', async (t) => {
  const { present } = await startVerifier(t, { claims: { authTime: 'login.at' } });
  const at = new Date('2026-01-02T03:04:05Z');
  const login = { at: at.getTime() / 1000 };
  t.deepEqual((await present({ login })).authenticatedAt, at);
  for (const other of [{ at: String(login.at) }, { at: 1e300 }, { at: null }, {}]) {
    t.is((await present({ login: other, auth_time: 1 })).authenticatedAt, undefined);
  }
});

test('a token with a subject only grants nothing', async (t) => {
  const { present } = await startVerifier(t);
  t.like(await present(), {
    tenantId: undefined,
    plan: 'standard',
    roles: [],
    scopes: [],
    sessionId: undefined,
  });
});

test('a tenant that the issuer may not grant is ignored', async (t) => {
  const { present } = await startVerifier(t);
  for (const tenant_id of ['default', 'ONE', '', ['one'], 1, null]) {
    t.is((await present({ tenant_id })).tenantId, undefined);
  }
});

test('a configured tenant and plan replace the claims', async (t) => {
  const { present } = await startVerifier(t, { tenant: 'three', plan: 'small' });
  t.like(await present({ tenant_id: 'one', plan: 'large' }), { tenantId: 'three', plan: 'small' });
});

test('claims are read from configured paths, in arrays or in one string', async (t) => {
  const { present } = await startVerifier(t, {
    claims: {
      subject: 'person.id',
      roles: 'https://login\\.example/roles',
      scopes: 'scope',
      tenant: 'org.unit.name',
      plan: 'org.plan',
      session: 'session_state',
    },
  });
  const token = await present({
    sub: 'other',
    person: { id: 'someone' },
    'https://login.example/roles': ['user'],
    scope: 'openid documents:read profile',
    org: { unit: { name: 'one' }, plan: 'large' },
    session_state: 'session-1',
  });
  t.like(token, {
    subject: 'someone',
    tenantId: 'one',
    plan: 'large',
    roles: ['user'],
    scopes: ['documents:read'],
    sessionId: 'session-1',
  });
});

for (const roles of ['__proto__.x', 'constructor.name', 'authz.__proto__.constructor', 'a.b.c']) {
  test(`a path that the token does not have is no claim: ${roles}`, async (t) => {
    const grants = { roles: ['user', 'Object', 'Array'], scopes: [], tenants: [] };
    const { present } = await startVerifier(t, { claims: { roles, plan: roles }, grants });
    t.like(await present({ authz: { roles: ['user'] } }), { roles: [], plan: 'standard' });
  });
}

const oddNames = {
  'a number': 1,
  'an object': { user: true },
  'an object that looks like an array': { 0: 'user', length: 1 },
  true: true,
  null: null,
  'another spelling': ['USER', ' user'],
  'names within an array': [['user']],
  'other things in an array': [1, null, { toString: 'user' }],
};
for (const [what, names] of Object.entries(oddNames)) {
  test(`a claim of another type grants nothing: ${what}`, async (t) => {
    const { present } = await startVerifier(t, { claims: { roles: 'roles', scopes: 'scopes' } });
    t.like(await present({ roles: names, scopes: names }), { roles: [], scopes: [] });
  });
}

test('valid names beside invalid ones still count', async (t) => {
  const { present } = await startVerifier(t, { claims: { roles: 'roles' } });
  t.deepEqual((await present({ roles: [1, 'user', null, 'user'] })).roles, ['user']);
});

test('a session claim that is no text, or is too long, is ignored', async (t) => {
  const { present } = await startVerifier(t);
  for (const sid of [1, '', 'x'.repeat(256), 'a\0b', ['a']]) {
    t.is((await present({ sid })).sessionId, undefined);
  }
});

const refusedClaims: Record<string, [ErrorCode, JWTPayload]> = {
  'another issuer': ['invalid_issuer', { iss: 'https://other.test' }],
  'no issuer': ['invalid_issuer', { iss: undefined }],
  'another audience': ['invalid_audience', { aud: 'other' }],
  'an audience with the same prefix': ['invalid_audience', { aud: ['vault2', 'vaul'] }],
  'no audience': ['invalid_audience', { aud: undefined }],
  'no exp': ['invalid_token', { exp: undefined }],
  'no subject': ['invalid_token', { sub: undefined }],
  'an empty subject': ['invalid_token', { sub: '' }],
  'a subject of 256 characters': ['invalid_token', { sub: 'x'.repeat(256) }],
  'a subject with NUL': ['invalid_token', { sub: 'a\0b' }],
  'a subject with a lone surrogate': ['invalid_token', { sub: 'a\ud800' }],
  'Keycloak’s ID token': ['invalid_token', { typ: 'ID' }],
  'Keycloak’s refresh token': ['invalid_token', { typ: 'Refresh' }],
  'Keycloak’s offline token': ['invalid_token', { typ: 'Offline' }],
  'an ID token with a nonce': ['invalid_token', { nonce: 'n' }],
  'an ID token with at_hash': ['invalid_token', { at_hash: 'h' }],
  'an ID token with c_hash': ['invalid_token', { c_hash: 'h' }],
  'an ID token for another audience': ['invalid_token', { typ: 'ID', aud: 'client' }],
};
for (const [what, [code, changes]] of Object.entries(refusedClaims)) {
  test(`refused as ${code}: ${what}`, async (t) => {
    const { present } = await startVerifier(t);
    await throwsCode(t, present(changes), code);
  });
}

test('a subject that is not a string is refused', async (t) => {
  const { present } = await startVerifier(t, { claims: { subject: 'id' } });
  for (const id of [1, null, ['someone'], { id: 'someone' }]) {
    await throwsCode(t, present({ id }), 'invalid_token');
  }
  await throwsCode(t, present({ id: 'someone', sub: undefined }), 'invalid_token');
});

test('the audience may be one of several, and a subject may have 255 characters', async (t) => {
  const { present } = await startVerifier(t);
  const sub = 'x'.repeat(255);
  t.is((await present({ aud: ['account', 'vault'], sub })).subject, sub);
});

test('clocks may differ by 30 seconds and no more', async (t) => {
  const { present, clock } = await startVerifier(t);
  const now = Math.floor(clock().getTime() / 1000);
  t.truthy(await present({ exp: now - 29 }));
  await throwsCode(t, present({ exp: now - 31 }), 'token_expired');
  t.truthy(await present({ nbf: now + 29 }));
  await throwsCode(t, present({ nbf: now + 31 }), 'invalid_token');
});

for (const typ of ['JWT', 'jwt', 'at+jwt', 'application/at+jwt']) {
  test(`a token may have the typ ${typ}`, async (t) => {
    const { present } = await startVerifier(t);
    t.truthy(await present({ typ: 'Bearer' }, { typ }));
  });
}

for (const typ of ['reauth+jwt', 'logout+jwt', 'dpop+jwt', 'id_token+jwt', 'JOSE', '', 1]) {
  test(`a token of another typ is refused: ${JSON.stringify(typ)}`, async (t) => {
    const { present } = await startVerifier(t);
    await throwsCode(t, present({}, { typ }), 'invalid_token');
  });
}

test('every algorithm but RS256 is refused, also where the key set names none', async (t) => {
  const issuer = await startTestIssuer(t);
  const { claims, clock, config, key } = issuer;
  const { kid, privateKey, publicKey } = key;
  const { alg: _alg, ...anyAlgorithm } = key.jwk;
  issuer.server.publish(anyAlgorithm);
  const verify = createExternalTokens({ config, clock, keys: issuer.startKeySet() });
  t.truthy(await verify(await key.sign(claims())));
  for (const alg of ['RS384', 'RS512', 'PS256']) {
    const token = await new SignJWT(claims()).setProtectedHeader({ alg, kid }).sign(privateKey);
    await throwsCode(t, verify(token), 'invalid_token', alg);
  }
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const es256 = new SignJWT(claims()).setProtectedHeader({ alg: 'ES256', kid });
  await throwsCode(t, verify(await es256.sign(ec.privateKey)), 'invalid_token', 'ES256');

  const unsigned = `${encode({ alg: 'HS256', kid })}.${encode(claims())}`;
  const secret = publicKey.export({ type: 'spki', format: 'pem' });
  const hmac = createHmac('sha256', secret).update(unsigned).digest('base64url');
  await throwsCode(
    t,
    verify(`${unsigned}.${hmac}`),
    'invalid_token',
    'signed with the public key as secret',
  );
  for (const alg of ['none', 'NONE', undefined]) {
    const token = `${encode({ alg, kid })}.${encode(claims())}.`;
    await throwsCode(t, verify(token), 'invalid_token', `unsigned: ${alg}`);
  }
});

test('a token that was signed by another key or changed is refused', async (t) => {
  const { claims, key, verify } = await startVerifier(t);
  const stranger = await createSigningKey();
  await throwsCode(t, verify(await stranger.sign(claims())), 'invalid_token', 'with its own kid');
  const named = await stranger.sign(claims(), { kid: key.kid });
  await throwsCode(t, verify(named), 'invalid_token', 'with the kid of the trusted key');
  const shown = await stranger.sign(claims(), { kid: stranger.kid, jwk: stranger.jwk });
  await throwsCode(t, verify(shown), 'invalid_token', 'with its key in the token');
  const [header, , signature] = (await key.sign(claims())).split('.');
  const changed = `${header}.${encode(claims({ sub: 'other' }))}.${signature}`;
  await throwsCode(t, verify(changed), 'invalid_token', 'changed');
});

for (const token of ['', 'a', 'a.b', 'a.b.c', '..', `${encode({ alg: 'RS256' })}..`, 'e30.e30.']) {
  test(`a malformed token is invalid_token: ${JSON.stringify(token)}`, async (t) => {
    const { verify } = await startVerifier(t);
    await throwsCode(t, verify(token), 'invalid_token');
  });
}

test('a token of an issuer that never responded is jwks_unavailable', async (t) => {
  const issuer = await startTestIssuer(t);
  await issuer.server.close();
  const { config, clock, key, claims } = issuer;
  const verify = createExternalTokens({ config, clock, keys: issuer.startKeySet() });
  await throwsCode(t, verify(await key.sign(claims())), 'jwks_unavailable');
});

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
