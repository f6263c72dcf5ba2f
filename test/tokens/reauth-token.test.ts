import { createHmac, generateKeyPairSync, randomUUID } from 'node:crypto';
import test from 'ava';
import { SignJWT, UnsecuredJWT } from 'jose';
import { createAccount, logIn } from '../support/accounts/test-account.ts';
import { assertError } from '../support/http/error-body.ts';
import { getJson, send, type JsonAnswer } from '../support/http/send.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { reauthToken } from '../support/accounts/reauth-account.ts';
import { trustKey, type TrustedKey } from '../support/accounts/trusted-key.ts';

let vault: TestVault;
let key: TrustedKey;

test.before(async () => {
  vault = await startReadyVault();
  key = await trustKey(vault);
});
test.after.always(() => vault.stop());

/**
 * Requests the closure of the account, as an example of a route that needs a reauthentication
 * token.
 */
function closeAccount(token: string, reauth?: string): Promise<JsonAnswer> {
  return send('DELETE', `${vault.baseUrl}/v1/auth/account`, {
    token,
    ...(reauth === undefined ? {} : { headers: { 'X-Reauth-Token': reauth } }),
  });
}

const now = () => Math.floor(Date.now() / 1000);
const userId = randomUUID();

/** Signs a valid reauthentication token of the user, changed by the arguments. */
function sign(claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) {
  const own = { sub: userId, purpose: 'reauth', exp: now() + 300 };
  return key.sign({ ...own, ...claims }, { typ: 'reauth+jwt', ...header });
}

async function confused(): Promise<string> {
  const [, payload = ''] = (await sign()).split('.');
  const header = JSON.stringify({ alg: 'HS256', typ: 'reauth+jwt', kid: key.keyId });
  const input = `${Buffer.from(header).toString('base64url')}.${payload}`;
  const secret = key.publicKey.export({ type: 'spki', format: 'pem' });
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
}

function claimsOf(token: string): Record<string, unknown> {
  const [, payload = ''] = token.split('.');
  return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
}

async function unsecured(): Promise<string> {
  return new UnsecuredJWT(claimsOf(await sign())).encode();
}

async function byStranger(): Promise<string> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return new SignJWT(claimsOf(await sign()))
    .setProtectedHeader({ alg: 'RS256', typ: 'reauth+jwt', kid: key.keyId })
    .sign(privateKey);
}

async function tampered(): Promise<string> {
  const [header, , signature] = (await sign()).split('.');
  const [, payload] = (await sign({ exp: now() + 900 })).split('.');
  return `${header}.${payload}.${signature}`;
}

/** [the fault of the token, the token] */
const invalidTokens: [string, () => Promise<string>][] = [
  ['not a JWT', async () => 'jam'],
  ['two tokens', async () => `${await sign()}, ${await sign()}`],
  ['another purpose', () => sign({ purpose: 'login' })],
  ['no purpose', () => sign({ purpose: undefined })],
  ['a list of purposes', () => sign({ purpose: ['reauth'] })],
  ['another user', () => sign({ sub: randomUUID() })],
  ['no user', () => sign({ sub: undefined })],
  ['another user, and expired', () => sign({ sub: randomUUID(), exp: now() - 60 })],
  ['another audience', () => sign({ aud: 'elsewhere' })],
  ['another issuer', () => sign({ iss: 'https://elsewhere.test' })],
  ['the typ of access tokens', () => sign({}, { typ: 'at+jwt' })],
  ['typ JWT', () => sign({}, { typ: 'JWT' })],
  ['no typ', () => sign({}, { typ: undefined })],
  ['an access token', () => key.sign({ sub: userId })],
  ['no exp', () => sign({ exp: undefined })],
  ['no iat', () => sign({ iat: undefined })],
  ['no jti', () => sign({ jti: undefined })],
  ['not yet valid', () => sign({ nbf: now() + 60 })],
  ['alg none', unsecured],
  ['alg HS256', confused],
  ['an unknown kid', () => sign({}, { kid: '0'.repeat(32) })],
  ['no kid', () => sign({}, { kid: undefined })],
  ['the key of a stranger', byStranger],
  ['another payload', tampered],
];
for (const [what, make] of invalidTokens) {
  test(`an invalid reauthentication token is refused: ${what}`, async (t) => {
    const answer = await closeAccount(await key.sign({ sub: userId }), await make());
    assertError(t, answer, { status: 401, code: 'reauth_invalid' });
    t.regex(answer.headers.get('www-authenticate') ?? '', /^Bearer error="reauth_invalid"/);
  });
}

test('a request without a reauthentication token gets reauth_required', async (t) => {
  const answer = await closeAccount(await key.sign({ sub: userId }));
  assertError(t, answer, { status: 401, code: 'reauth_required' });
});

test('a reauthentication token ends after five minutes, without tolerance', async (t) => {
  const token = await key.sign({ sub: userId });
  const issuedAt = now() - 301;
  const late = await sign({ iat: issuedAt, exp: issuedAt + 300 });
  const answer = await closeAccount(token, late);
  assertError(t, answer, { status: 401, code: 'reauth_expired' });
});

test('the role is checked before the reauthentication token', async (t) => {
  const token = await key.sign({ sub: userId, authz: { roles: [], scopes: ['recovery'] } });
  const denied = { status: 403, code: 'access_denied' };
  assertError(t, await closeAccount(token, await sign()), denied);
  assertError(t, await closeAccount(token), denied);
});

test('a reauthentication token is refused as an access token', async (t) => {
  const account = await createAccount(vault);
  const token = await reauthToken(vault, account, await logIn(vault, account));
  for (const path of ['/v1/documents', '/v1/auth/sessions']) {
    const answer = await getJson(`${vault.baseUrl}${path}`, token);
    assertError(t, answer, { status: 401, code: 'invalid_token' });
  }
});

test('a reauthentication token works in any session of its user only', async (t) => {
  const account = await createAccount(vault);
  const proven = await reauthToken(vault, account, await logIn(vault, account));
  const other = await createAccount(vault);
  const stranger = await closeAccount(await logIn(vault, other), proven);
  assertError(t, stranger, { status: 401, code: 'reauth_invalid' });
  t.is((await closeAccount(await logIn(vault, account), proven)).status, 204);
});
