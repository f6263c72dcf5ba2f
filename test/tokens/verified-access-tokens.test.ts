import { createHash, generateKeyPairSync } from 'node:crypto';
import test from 'ava';
import { SignJWT } from 'jose';
import { createAccessTokens } from '../../app/tokens/access-token.ts';
import { createOwnKeys } from '../../app/tokens/own-keys.ts';
import type { RegisteredKey } from '../../app/proof/registered-key.ts';
import { standardClaims } from '../support/accounts/trusted-key.ts';

const issuer = 'https://vault.test';
const audience = 'probatio';
const begin = Date.parse('2030-01-01T00:00:00Z') / 1000;
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const der = publicKey.export({ type: 'spki', format: 'der' });
const key: RegisteredKey = {
  keyId: createHash('sha256').update(der).digest('hex').slice(0, 32),
  purpose: 'token',
  algorithm: 'RS256',
  publicKey: der.toString('base64'),
  imported: false,
  generation: 1,
  state: 'ACTIVE',
  registeredAt: new Date(0),
  activatedAt: new Date(0),
  retiredAt: null,
  compromisedSince: null,
  compromiseId: null,
  recordId: null,
  key: publicKey,
};

/** Creates a verifier of access tokens with a registry and a clock that the test changes. */
function createVerifier() {
  const world = {
    seconds: begin,
    find: async (keyId: string): Promise<RegisteredKey | undefined> =>
      keyId === key.keyId ? key : undefined,
  };
  const clock = () => new Date(world.seconds * 1000);
  const unused = () => Promise.reject(new Error('unused in this test'));
  const registry = { find: (keyId: string) => world.find(keyId), active: unused };
  const findOwnKey = createOwnKeys({ registry, clock });
  const signer = { signToken: unused };
  return {
    world,
    ...createAccessTokens({ issuer, audience, signer, registry, findOwnKey, clock }),
  };
}

function sign(claims: Record<string, unknown> = {}): Promise<string> {
  const standard = standardClaims({ issuer, audience });
  const payload = { ...standard, iat: begin, exp: begin + 900, ...claims };
  const header = { alg: 'RS256', typ: 'at+jwt', kid: key.keyId };
  return new SignJWT(payload).setProtectedHeader(header).sign(privateKey);
}

test('a cached token is refused once its key is retired, gone or unreadable', async (t) => {
  const { verify, world } = createVerifier();
  const token = await sign();
  const { find } = world;
  const first = await verify(token);
  t.deepEqual(await verify(token), first);
  const retiredAt = new Date((begin - 941) * 1000);
  world.find = async () => ({ ...key, state: 'RETIRED', retiredAt });
  await t.throwsAsync(verify(token), { code: 'invalid_token' });
  world.find = async () => undefined;
  await t.throwsAsync(verify(token), { code: 'invalid_token' });
  world.find = () => Promise.reject(new Error('the database is unavailable'));
  await t.throwsAsync(verify(token), { code: 'jwks_unavailable' });
  world.find = find;
  t.deepEqual(await verify(token), first);
});

test('a cached token expires in the same second as an uncached one', async (t) => {
  const [known, fresh] = [createVerifier(), createVerifier()];
  const token = await sign();
  await known.verify(token);
  const outcome = async ({ verify, world }: ReturnType<typeof createVerifier>, seconds: number) => {
    world.seconds = begin + seconds;
    return verify(token).then(
      () => 'valid',
      (error: { code: string }) => error.code,
    );
  };
  for (const seconds of [929, 929.999, 930, 930.5, 5_000, -5_000, 929.5, 930]) {
    const expected = await outcome(fresh, seconds);
    t.is(expected, seconds < 930 ? 'valid' : 'token_expired');
    t.is(await outcome(known, seconds), expected, String(seconds));
  }
});

test('a cached token verifies only unchanged', async (t) => {
  const { verify } = createVerifier();
  const token = await sign();
  await verify(token);
  const [header = '', payload = '', signature = ''] = token.split('.');
  const flipped = (signature.startsWith('A') ? 'B' : 'A') + signature.slice(1);
  const [, other = ''] = (await sign({ sub: '7f1c2b7e-0f6d-4c3a-9a55-0d7f2f6f5a09' })).split('.');
  for (const changed of [
    [header, payload, flipped],
    [header, payload, ''],
    [header, other, signature],
    [header, payload, `${signature}=`],
  ]) {
    await t.throwsAsync(verify(changed.join('.')), { code: 'invalid_token' });
  }
});

test('a refused token is refused again', async (t) => {
  const { verify } = createVerifier();
  for (const [claims, code] of [
    [{ iss: 'https://other.test' }, 'invalid_issuer'],
    [{ aud: 'other' }, 'invalid_audience'],
    [{ exp: begin - 31 }, 'token_expired'],
    [{ tenant_id: '' }, 'invalid_token'],
  ] as const) {
    const token = await sign(claims);
    for (const _ of [1, 2]) await t.throwsAsync(verify(token), { code });
  }
});
