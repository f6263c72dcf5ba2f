import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import test from 'ava';
import { createLocalJWKSet, exportJWK, importSPKI, jwtVerify } from 'jose';
import { SignerRefused, SignerUnavailable } from '../../signer/protocol/signer-error.ts';
import {
  createTokenFixture,
  startSigner,
  type RunningSigner,
  type TokenFixture,
} from '../support/audit/token-fixture.ts';

let fixture: TokenFixture;
let signer: RunningSigner;

test.before(async () => {
  fixture = await createTokenFixture();
  await fixture.tool('init');
  signer = await startSigner(fixture);
});

test.after.always(async () => {
  await signer?.stop();
  await fixture?.remove();
});

function sampleClaims(change: Record<string, unknown> = {}): Record<string, unknown> {
  const iat = Math.floor(Date.now() / 1000);
  const registered = { iss: 'https://vault.test', sub: randomUUID(), aud: 'vault' };
  return { ...registered, iat, exp: iat + 900, jti: randomUUID(), tenant_id: 'default', ...change };
}

test('an access token verifies with the listed key and has the requested claims', async (t) => {
  const claims = sampleClaims({ authz: { roles: ['user'], scopes: [] } });
  const keyId = await signer.keyId('token');
  const token = await signer.client.signToken({ keyId, typ: 'at+jwt', claims });
  const key = (await signer.client.listKeys()).find((key) => key.keyId === keyId);
  const pem = `-----BEGIN PUBLIC KEY-----\n${key?.publicKey}\n-----END PUBLIC KEY-----`;
  const jwk = await exportJWK(await importSPKI(pem, 'RS256'));
  const keySet = createLocalJWKSet({ keys: [{ ...jwk, kid: key?.keyId, alg: 'RS256' }] });
  const { payload, protectedHeader } = await jwtVerify(token, keySet, { typ: 'at+jwt' });
  t.deepEqual(payload, claims);
  t.deepEqual(protectedHeader, { alg: 'RS256', kid: key?.keyId, typ: 'at+jwt' });
});

const now = Math.floor(Date.now() / 1000);
const refusedTokens: Record<string, { typ: string; claims: Record<string, unknown> }> = {
  'another typ': { typ: 'JWT', claims: sampleClaims() },
  'a typ of Object.prototype': { typ: 'toString', claims: sampleClaims() },
  'no subject': { typ: 'at+jwt', claims: sampleClaims({ sub: undefined }) },
  'an empty audience': { typ: 'at+jwt', claims: sampleClaims({ aud: [] }) },
  'a lifetime over 15 minutes': { typ: 'at+jwt', claims: sampleClaims({ exp: now + 2000 }) },
  'an exp before its iat': { typ: 'at+jwt', claims: sampleClaims({ exp: now - 100 }) },
  'times that are text': { typ: 'at+jwt', claims: sampleClaims({ iat: `${now}` }) },
};
for (const [name, token] of Object.entries(refusedTokens)) {
  test(`a token with ${name} is not signed`, async (t) => {
    const keyId = await signer.keyId('token');
    const error = await t.throwsAsync(signer.client.signToken({ keyId, ...token }), {
      instanceOf: SignerRefused,
    });
    t.is(error?.code, 'not_permitted');
  });
}

for (const seconds of [600, -600]) {
  test(`a token with an iat ${seconds} s from now is a fault of clocks`, async (t) => {
    const keyId = await signer.keyId('token');
    const claims = sampleClaims({ iat: now + seconds, exp: now + seconds + 800 });
    await t.throwsAsync(signer.client.signToken({ keyId, typ: 'at+jwt', claims }), {
      instanceOf: SignerUnavailable,
      code: 'clock_skew',
    });
  });
}

test('MACs differ by label and stay the same across restarts', async (t) => {
  const macs = [await signer.client.mac('email-hash'), await signer.client.mac('decoy')];
  t.notDeepEqual(macs[0], macs[1]);
  t.is(macs[0]?.length, 32);
  const environment = { SIGNER_SOCKET_PATH: `${fixture.directory}/second.sock` };
  const second = await startSigner(fixture, environment);
  t.deepEqual([await second.client.mac('email-hash'), await second.client.mac('decoy')], macs);
  await second.stop();
});

test('the secret of one-time codes is another 20 bytes for each user and nonce', async (t) => {
  const user = randomUUID();
  const nonce = 'ab'.repeat(32);
  const { generation, secret } = await signer.client.totpSecret({ user, nonce });
  t.is(secret.length, 20);
  const again = await signer.client.totpSecret({ user, nonce, generation });
  t.deepEqual(again, { generation, secret });
  for (const other of [
    { user: randomUUID(), nonce },
    { user, nonce: 'cd'.repeat(32) },
  ]) {
    t.notDeepEqual((await signer.client.totpSecret(other)).secret, secret);
  }
  await t.throwsAsync(signer.client.totpSecret({ user, nonce, generation: 99 }), {
    instanceOf: SignerUnavailable,
    code: 'key_missing',
  });
});

interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
}

async function send({ method, path, body }: Exchange) {
  const socketPath = fixture.environment.SIGNER_SOCKET_PATH;
  const req = request({ socketPath, method, path }).end(body);
  const [res] = (await once(req, 'response')) as [IncomingMessage];
  const { code } = (await json(res)) as { code: unknown };
  return { status: res.statusCode, code };
}

const ofTotp = { label: `totp:${randomUUID()}:${'ab'.repeat(32)}` };
const unknownKeyId = 'f'.repeat(32);
const refusedRequests: [string, Exchange, number, string][] = [
  ['a MAC of an unknown label', post('/v1/mac', { label: 'pin' }), 403, 'not_permitted'],
  ['a MAC that names the text of one-time codes', post('/v1/mac', ofTotp), 403, 'not_permitted'],
  ['one-time codes of nobody', post('/v1/mac', { label: 'totp' }), 400, 'invalid_request'],
  [
    'one-time codes with a nonce of 31 bytes',
    post('/v1/mac', { label: 'totp', user: randomUUID(), nonce: 'ab'.repeat(31) }),
    400,
    'invalid_request',
  ],
  [
    'a user and a nonce under another label',
    post('/v1/mac', { label: 'at-rest', user: randomUUID(), nonce: 'ab'.repeat(32) }),
    400,
    'invalid_request',
  ],
  ['an unknown field', post('/v1/mac', { label: 'decoy', key: 1 }), 400, 'invalid_request'],
  [
    'an empty batch',
    post('/v1/seal', { keyId: unknownKeyId, entries: [] }),
    400,
    'invalid_request',
  ],
  [
    'a batch of 257',
    post('/v1/seal', { keyId: unknownKeyId, entries: batchOf(257) }),
    400,
    'invalid_request',
  ],
  ['a batch without a key', post('/v1/seal', { entries: batchOf(1) }), 400, 'invalid_request'],
  ['a new MAC key', post('/v1/keys', { purpose: 'mac' }), 400, 'invalid_request'],
  ['broken JSON', { method: 'POST', path: '/v1/seal', body: '{' }, 400, 'invalid_request'],
  ['an unknown path', { method: 'GET', path: '/v1/sign' }, 404, 'not_found'],
  ['an unsupported method', { method: 'GET', path: '/v1/seal' }, 405, 'method_not_allowed'],
];
for (const [name, exchange, status, code] of refusedRequests) {
  test(`${name} is refused with ${status} ${code}`, async (t) => {
    t.deepEqual(await send(exchange), { status, code });
  });
}

function post(path: string, body: object): Exchange {
  return { method: 'POST', path, body: JSON.stringify(body) };
}

function batchOf(length: number): object[] {
  return Array.from({ length }, () => ({ id: 'x', text: 'x' }));
}
