import anyTest, { type TestFn } from 'ava';
import { fingerprintOf } from '../../../app/identities/public-identity.ts';
import { proofHeader } from '../../support/accounts/reauth-account.ts';
import {
  namesIn,
  newSharingKey,
  publicationText,
  putKey,
  signAs,
  type SharingKey,
} from '../../support/documents/sharing-keys.ts';
import { entriesOf } from '../../support/documents/people.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';
import type { Vault } from '../../support/vault/vault.ts';

const test = anyTest as TestFn<{ vault: Vault }>;

test.before((t) => {
  t.context.vault = sharedVault();
});

const path = '/v1/crypto/keys/sharing';
const unproven = { code: 'identity_unproven' };
const possession = 'Service_Identity_Possession_v1';
const change = 'Service_Identity_Change_v1';

/** Returns the data of the entries of an account's identity, oldest first. */
async function dataOf(vault: Vault, { caller }: Api): Promise<object[]> {
  const entries = (await entriesOf(vault, caller.userId)) as { readonly data: object }[];
  return entries.map(({ data }) => data);
}

const sign = (api: Api, label: string, key: SharingKey, options: { by: string; of?: SharingKey }) =>
  signAs(options.by, label, publicationText(api.token, key, options.of));

test('an identity is stored only with its own signature, for account and keys', async (t) => {
  const [api, other] = [await createApi(t.context.vault), await createApi(t.context.vault)];
  const [key, stranger] = [newSharingKey(), newSharingKey()];
  const by = key.signingKey;
  const text = publicationText(api.token, key, undefined);
  const wrong: Record<string, unknown> = {
    'no signature': undefined,
    'by another key': sign(api, possession, key, { by: stranger.signingKey }),
    'for another account': sign(other, possession, key, { by }),
    'of another sharing key': sign(
      api,
      possession,
      { ...key, publicKey: stranger.publicKey },
      { by },
    ),
    'as the successor of another one': sign(api, possession, key, { by, of: stranger }),
    'of another kind': sign(api, change, key, { by }),
    'for another vault': signAs(
      by,
      possession,
      text.replace(namesIn(api.token).issuer, 'https://a'),
    ),
  };
  for (const [name, proofOfPossession] of Object.entries(wrong)) {
    const answer = await api.send('PUT', path, { json: { ...key, proofOfPossession } });
    t.like(answer.body, { statusCode: 400, code: unproven.code }, name);
    t.like(answer.body['details'], [{ path: 'proofOfPossession' }], name);
  }
  for (const proofOfPossession of ['', 'AAAA', 7, 'A'.repeat(88)]) {
    const answer = await api.send('PUT', path, { json: { ...key, proofOfPossession } });
    t.is(answer.body['code'], 'validation_failed', String(proofOfPossession));
  }
  t.is((await api.send('GET', path)).status, 404, 'nothing is stored');
  const proofOfPossession = sign(api, possession, key, { by });
  const stored = await api.send('PUT', path, { json: { ...key, proofOfPossession } });
  t.is(stored.status, 200);
  t.false(JSON.stringify(stored.body).includes(proofOfPossession), 'it is shown to nobody');
  const [entry] = await dataOf(t.context.vault, api);
  t.false(JSON.stringify(entry).includes(proofOfPossession), 'nor recorded');
});

test('nobody publishes the signing key of another user', async (t) => {
  const { vault } = t.context;
  const [alice, mallory] = [await createApi(vault), await createApi(vault)];
  const key = newSharingKey();
  t.is((await putKey(alice, key)).status, 200);
  const { publicKey, ...own } = newSharingKey();
  const copied = { ...own, publicKey, signingKey: key.signingKey };
  const proofOfPossession = sign(mallory, possession, copied, { by: own.signingKey });
  for (const json of [copied, { ...copied, proofOfPossession }]) {
    t.is((await mallory.send('PUT', path, { json })).body['code'], unproven.code);
  }
});

test('another sharing key alone needs the signature of the present signing key', async (t) => {
  const api = await createApi(t.context.vault);
  const key = newSharingKey();
  await putKey(api, key);
  const headers = { ...(await proofHeader(t.context.vault, api.caller)), 'If-Match': '*' };
  const { publicKey, wrappedPrivateKey } = newSharingKey();
  const json = { publicKey, wrappedPrivateKey };
  t.is((await api.send('PUT', path, { json, headers })).body['code'], unproven.code);
  t.is((await putKey(api, json, headers)).status, 200);
});

test('the entry of a change holds the signature of the identity before, if given', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const [first, second, third] = [newSharingKey(), newSharingKey(), newSharingKey()];
  await putKey(api, first);
  const headers = { ...(await proofHeader(vault, api.caller)), 'If-Match': '*' };
  const endorsement = sign(api, change, second, { by: first.signingKey, of: first });
  for (const wrong of [
    sign(api, change, second, { by: second.signingKey, of: first }),
    sign(api, possession, second, { by: first.signingKey, of: first }),
    sign(api, change, third, { by: first.signingKey, of: first }),
  ]) {
    const answer = await putKey(api, { ...second, endorsement: wrong }, headers);
    t.like(answer.body['details'], [{ path: 'endorsement' }]);
  }
  t.is((await putKey(api, { ...second, endorsement }, headers)).status, 200);
  t.is((await putKey(api, third, headers)).status, 200);
  t.like(await dataOf(vault, api), [
    { publicKey: first.publicKey, signingKey: first.signingKey, previousFingerprint: null },
    { previousFingerprint: fingerprintOf(first), endorsement },
    { previousFingerprint: fingerprintOf(second), endorsement: null },
  ]);
});

test('a first identity has none before it that could sign', async (t) => {
  const api = await createApi(t.context.vault);
  const key = newSharingKey();
  const endorsement = sign(api, change, key, { by: key.signingKey });
  t.is((await putKey(api, { ...key, endorsement })).body['code'], unproven.code);
});
