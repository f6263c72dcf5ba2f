import type { RequestListener } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { jwtVerify, type JWK } from 'jose';
import type { KeySet } from '../../../app/tokens/external-issuers/key-set.ts';
import { toTokenError } from '../../../app/tokens/token-rules.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { startKeyServer } from '../../support/issuers/key-server.ts';
import { createSigningKey, type SigningKey } from '../../support/issuers/signing-key.ts';
import {
  startTestIssuer,
  throwsCode,
  untilFetched,
  type TestIssuer,
} from '../../support/issuers/test-issuer.ts';

const always = { keyCache: { refreshSeconds: 1, coolDownSeconds: 1 } };

/** Verifies a token signed by `key`; rejects with the API's error. */
async function verify(keys: KeySet, key: SigningKey, header = {}): Promise<void> {
  const token = await key.sign({ sub: 'someone' }, header);
  await jwtVerify(token, keys.find).catch((error: unknown) => {
    throw toTokenError(error);
  });
}

async function startFetched(
  t: ExecutionContext,
  settings = {},
): Promise<TestIssuer & { keys: KeySet }> {
  const issuer = await startTestIssuer(t, settings);
  const keys = issuer.startKeySet();
  await untilFetched(keys);
  return { ...issuer, keys };
}

test('keys are fetched at the start, and their tokens cause no other fetch', async (t) => {
  const { keys, key, server, passSeconds } = await startFetched(t);
  await verify(keys, key);
  passSeconds(3_000);
  await verify(keys, key);
  t.is(server.requests, 1);
});

test('tokens that arrive before the first keys wait for them', async (t) => {
  const issuer = await startTestIssuer(t);
  const keys = issuer.startKeySet();
  await Promise.all(Array.from({ length: 20 }, () => verify(keys, issuer.key)));
  t.is(issuer.server.requests, 1);
});

test('unknown keys cause one fetch, and no other before the cool-down is over', async (t) => {
  const { keys, key, server, passSeconds } = await startFetched(t);
  const refuseHundred = () =>
    Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        throwsCode(t, verify(keys, key, { kid: `unknown-${index}` }), 'invalid_token'),
      ),
    );
  await refuseHundred();
  t.is(server.requests, 2);
  await refuseHundred();
  passSeconds(29);
  await refuseHundred();
  t.is(server.requests, 2);
  passSeconds(1);
  await refuseHundred();
  t.is(server.requests, 3);
});

test('a new key works from its first token, and a withdrawn one no longer', async (t) => {
  const { keys, key, server } = await startFetched(t);
  const next = await createSigningKey();
  server.publish(next.jwk, key.jwk);
  await Promise.all([verify(keys, next), verify(keys, next), verify(keys, key)]);
  t.is(server.requests, 2);

  const third = await createSigningKey();
  server.publish(third.jwk);
  await throwsCode(t, verify(keys, third), 'invalid_token', 'the cool-down is not over');
  await verify(keys, key);
});

test('keys are fetched again in the background, and withdrawn ones are dropped', async (t) => {
  const { keys, key, server } = await startFetched(t, always);
  const next = await createSigningKey();
  server.publish(next.jwk);
  const before = server.requests;
  await until(() => server.requests >= before + 2, { what: 'two more fetches', timeoutMs: 60_000 });
  await throwsCode(t, verify(keys, key), 'invalid_token');
  await verify(keys, next);
});

test('keys of an unreachable issuer work until too old, and again on its return', async (t) => {
  const { keys, key, server, passSeconds } = await startFetched(t);
  await server.close();
  passSeconds(3_599);
  await verify(keys, key);
  t.like(keys.state(), { isUsable: true });
  passSeconds(1);
  await throwsCode(t, verify(keys, key), 'jwks_unavailable');
  t.like(keys.state(), { isUsable: false, isReachable: false });
  await server.open();
  await throwsCode(t, verify(keys, key), 'jwks_unavailable', 'the cool-down is not over');
  passSeconds(30);
  await verify(keys, key);
  t.like(keys.state(), { isUsable: true, isReachable: true });
});

test('an unknown key of an unreachable issuer is jwks_unavailable', async (t) => {
  const { keys, key, server, passSeconds } = await startFetched(t);
  const next = await createSigningKey();
  await server.close();
  await throwsCode(t, verify(keys, next), 'jwks_unavailable');
  await verify(keys, key);
  server.publish(next.jwk);
  await server.open();
  passSeconds(30);
  await verify(keys, next);
});

test('an issuer that is unreachable at the start is used once it is back', async (t) => {
  const issuer = await startTestIssuer(t, always);
  await issuer.server.close();
  const keys = issuer.startKeySet();
  await throwsCode(t, verify(keys, issuer.key), 'jwks_unavailable');
  t.deepEqual(keys.state(), {
    issuer: issuer.config.issuer,
    isUsable: false,
    isReachable: false,
    fetchedAt: undefined,
  });
  await issuer.server.open();
  await untilFetched(keys);
  await verify(keys, issuer.key);
  const messages = issuer.logLines.map((line) => (JSON.parse(line) as { msg: string }).msg);
  t.is(messages[0], 'fetching the key set of an issuer failed');
  t.is(messages.at(-1), 'the key set of an issuer is available again');
});

const secret = 'jam-secret';
const brokenAnswers: Record<string, RequestListener> = {
  'status 500': (_, response) => response.writeHead(500).end('{"keys":[]}'),
  'status 204': (_, response) => response.writeHead(204).end(),
  'not JSON': (_, response) => response.end(`<html>${secret}`),
  'an empty body': (_, response) => response.end(),
  null: (_, response) => response.end('null'),
  'an array': (_, response) => response.end(`["${secret}"]`),
  'keys that are not an array': (_, response) => response.end(`{"keys":{"${secret}":1}}`),
  'more than 256 KiB': (_, response) =>
    response.end(`{"keys":[],"${secret}":"${'x'.repeat(256 * 1024)}"}`),
  'a response that breaks halfway': (_, response) => {
    response.writeHead(200, { 'Content-Length': '100' }).write('{"keys":[');
    setImmediate(() => response.destroy());
  },
  'a response that never ends': (_, response) => response.write('{"keys":['),
};
for (const [what, listener] of Object.entries(brokenAnswers)) {
  test(`a broken key set leaves the keys unchanged: ${what}`, async (t) => {
    t.timeout(30_000);
    const { keys, key, server, logLines } = await startFetched(t);
    server.answer(listener);
    await throwsCode(t, verify(keys, key, { kid: 'unknown' }), 'jwks_unavailable');
    t.is(server.requests, 2);
    t.like(keys.state(), { isUsable: true, isReachable: false });
    await verify(keys, key);
    t.false(logLines.join('').includes(secret));
  });
}

test('a redirect of the key set is not followed', async (t) => {
  const { keys, key, server } = await startFetched(t);
  const elsewhere = await startKeyServer();
  t.teardown(() => elsewhere.close());
  const foreign = await createSigningKey();
  elsewhere.publish(foreign.jwk);
  server.answer((_, response) => response.writeHead(302, { Location: elsewhere.url }).end());
  await throwsCode(t, verify(keys, foreign), 'jwks_unavailable');
  t.is(elsewhere.requests, 0);
  await verify(keys, key);
});

const uselessKeys: Record<string, (key: SigningKey) => JWK> = {
  'for encryption': ({ jwk }) => ({ ...jwk, use: 'enc', alg: 'RSA-OAEP' }),
  'for another use': ({ jwk }) => ({ ...jwk, use: 'enc' }),
  'for another algorithm': ({ jwk }) => ({ ...jwk, alg: 'RS512' }),
  'for other operations': ({ jwk }) => ({ ...jwk, key_ops: ['encrypt'] }),
  'of another type': ({ kid }) => ({ kty: 'oct', k: 'c2VjcmV0', kid }),
  'without a modulus': ({ jwk: { n: _modulus, ...rest } }) => rest,
  'with an empty modulus': ({ jwk }) => ({ ...jwk, n: '' }),
  'with its private part': ({ jwk, privateKey }) => ({
    ...privateKey.export({ format: 'jwk' }),
    kid: jwk.kid ?? '',
  }),
};
for (const [what, change] of Object.entries(uselessKeys)) {
  test(`an unusable key is skipped: ${what}`, async (t) => {
    const { keys, key, server } = await startFetched(t);
    const other = await createSigningKey();
    server.publish(change(other), key.jwk);
    await throwsCode(t, verify(keys, other), 'invalid_token');
    await verify(keys, key);
    t.is(server.requests, 2, 'the other keys of the document are used');
  });
}

test('a key below 2048 bits is skipped', async (t) => {
  const { keys, key, server } = await startFetched(t);
  const weak = await createSigningKey(1024);
  server.publish(weak.jwk, key.jwk);
  // The header is replaced, because jose refuses to sign with a short key.
  const token = (await key.sign({})).replace(/^[^.]*/, encode({ alg: 'RS256', kid: weak.kid }));
  await throwsCode(
    t,
    jwtVerify(token, keys.find).catch((error: unknown) => {
      throw toTokenError(error);
    }),
    'invalid_token',
  );
  t.is(server.requests, 2);
  await verify(keys, key);
});

test('a key without use and alg is accepted, and a single one needs no kid', async (t) => {
  const issuer = await startTestIssuer(t);
  const { use: _use, alg: _alg, kid: _kid, ...bare } = issuer.key.jwk;
  issuer.server.publish(bare);
  const keys = issuer.startKeySet();
  await verify(keys, issuer.key, { kid: undefined });
  issuer.server.publish(bare, (await createSigningKey()).jwk);
  issuer.passSeconds(3_600);
  await throwsCode(t, verify(keys, issuer.key, { kid: undefined }), 'invalid_token');
});

test('an issuer without a usable key is jwks_unavailable', async (t) => {
  const { keys, key, server } = await startFetched(t);
  server.publish({ ...key.jwk, use: 'enc' });
  await throwsCode(t, verify(keys, await createSigningKey()), 'jwks_unavailable');
  await throwsCode(t, verify(keys, key), 'jwks_unavailable', 'all keys are withdrawn');
  t.like(keys.state(), { isUsable: false, isReachable: true });
});

function encode(header: object): string {
  return Buffer.from(JSON.stringify(header)).toString('base64url');
}
