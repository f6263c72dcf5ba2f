import { createHash } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { isSigningKey } from '../../../app/identities/public-identity.ts';
import { proofHeader } from '../../support/accounts/reauth-account.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { countStatuses } from '../../support/documents/files.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';
import type { Vault } from '../../support/vault/vault.ts';
import { entriesOf } from '../../support/documents/people.ts';
import { newSharingKey, putKey } from '../../support/documents/sharing-keys.ts';

const test = anyTest as TestFn<{ vault: Vault }>;

test.before(async (t) => {
  t.context.vault = sharedVault();
});

const getKey = (api: Awaited<ReturnType<typeof createApi>>) =>
  api.send('GET', '/v1/crypto/keys/sharing');

test('the first key pair is stored verbatim, and is visible to its owner only', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const key = newSharingKey();
  t.is((await getKey(api)).body.code, 'not_found');
  const stored = await putKey(api, key);
  t.is(stored.status, 200);
  t.is(stored.headers.get('etag'), '"1"');
  const read = await getKey(api);
  t.deepEqual(read.body, stored.body);
  t.like(read.body, { ...key, version: 1 });
  t.is(read.headers.get('etag'), '"1"');
  t.is(read.headers.get('cache-control'), 'no-store');
  t.is((await getKey(await createApi(vault))).status, 404);
});

test('a key pair is replaced only by a request with its version', async (t) => {
  const api = await createApi(t.context.vault);
  const [first, second] = [newSharingKey(), newSharingKey()];
  t.is((await putKey(api, first, { 'If-Match': '"1"' })).status, 412);
  await putKey(api, first);
  const proof = await proofHeader(t.context.vault, api.caller);
  t.is((await putKey(api, second, proof)).body.code, 'precondition_required');
  const stale = { ...proof, 'If-Match': '"2"' };
  t.is((await putKey(api, second, stale)).body.code, 'precondition_failed');
  t.is((await putKey(api, second, { 'If-Match': 'one' })).body.code, 'invalid_request');
  t.is((await putKey(api, second, { 'If-Match': '"1"' })).body.code, 'reauth_required');
  t.like((await getKey(api)).body, { ...first, version: 1 });
  const replaced = await putKey(api, second, { ...proof, 'If-Match': '"1"' });
  t.is(replaced.status, 200);
  t.is(replaced.headers.get('etag'), '"2"');
  t.like((await getKey(api)).body, { ...second, version: 2 });
});

test('one of ten concurrent clients stores the first key pair, and one replaces it', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const putTen = (headers = {}) =>
    Promise.all(Array.from({ length: 10 }, () => putKey(api, newSharingKey(), headers)));
  const proof = await proofHeader(vault, api.caller);
  t.deepEqual(countStatuses(await putTen(proof)), { 200: 1, 428: 9 });
  const present = { ...proof, 'If-Match': '"1"' };
  t.deepEqual(countStatuses(await putTen(present)), { 200: 1, 412: 9 });
  t.is((await entriesOf(vault, api.caller.userId)).length, 2);
});

test('each change leaves an entry with the public keys and no private key', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const key = newSharingKey();
  await putKey(api, key);
  const [entry] = await entriesOf(vault, api.caller.userId);
  const digest = createHash('sha3-256')
    .update('Service_Identity_Fingerprint_v1\0')
    .update(key.publicKey, 'base64')
    .update(key.signingKey, 'base64')
    .digest('hex');
  t.like(entry, {
    action: 'sharing_key.changed',
    resource: { type: 'sharing_key', owner: api.caller.userId },
    data: {
      fingerprint: digest.slice(0, 32),
      publicKey: key.publicKey,
      signingKey: key.signingKey,
      version: 1,
    },
  });
  const text = JSON.stringify(entry);
  t.false(text.includes(key.wrappedPrivateKey) || text.includes(key.wrappedSigningKey));
});

/**
 * Little-endian u-coordinates of small order, including those above the prime and with bit 255 set.
 */
const smallOrder = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
  '5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '0000000000000000000000000000000000000000000000000000000000000080',
  '5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f11d7',
];

test('a public key of small order or of another length is refused', async (t) => {
  const api = await createApi(t.context.vault);
  const { publicKey } = newSharingKey();
  const refused = [
    ...smallOrder.map((hex) => Buffer.from(hex, 'hex').toString('base64')),
    Buffer.from(publicKey, 'base64').subarray(1).toString('base64'),
    Buffer.concat([Buffer.from(publicKey, 'base64'), Buffer.of(1)]).toString('base64'),
    '',
    'jam',
  ];
  for (const wrong of refused) {
    const answer = await putKey(api, { ...newSharingKey(), publicKey: wrong });
    t.is(answer.body.code, 'validation_failed', wrong);
  }
  t.is((await getKey(api)).status, 404);
});

test('a key pair without a signing key gets one that nobody has, which stays', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const { signingKey, wrappedSigningKey, ...sharingOnly } = newSharingKey();
  for (const half of [{ signingKey }, { wrappedSigningKey }]) {
    t.is((await putKey(api, { ...sharingOnly, ...half })).body.code, 'validation_failed');
  }
  const { body: first } = await putKey(api, sharingOnly);
  t.true(isSigningKey(String(first['signingKey'])));
  t.is(first['wrappedSigningKey'], null);
  const headers = { ...(await proofHeader(vault, api.caller)), 'If-Match': '*' };
  const { body: second } = await putKey(
    api,
    { ...sharingOnly, wrappedPrivateKey: 'AAAA' },
    headers,
  );
  t.is(second['signingKey'], first['signingKey']);
  const whole = { ...sharingOnly, signingKey, wrappedSigningKey };
  t.like((await putKey(api, whole, headers)).body, whole);
  t.like((await putKey(api, sharingOnly, headers)).body, whole);
});

test('a signing key is a point of the right order', async (t) => {
  const api = await createApi(t.context.vault);
  for (const signingKey of ['', 'AAAA', Buffer.alloc(32).toString('base64')]) {
    const answer = await putKey(api, { ...newSharingKey(), signingKey });
    t.is(answer.body.code, 'validation_failed', signingKey);
  }
  t.is((await getKey(api)).status, 404);
});

test('a wrapped private key has between 1 byte and 1 KiB', async (t) => {
  const api = await createApi(t.context.vault);
  const put = (bytes: number) => {
    const wrappedPrivateKey = Buffer.alloc(bytes).toString('base64');
    return putKey(api, { ...newSharingKey(), wrappedPrivateKey });
  };
  t.is((await put(0)).status, 400);
  t.is((await put(1025)).status, 400);
  t.is((await put(1024)).status, 200);
});
