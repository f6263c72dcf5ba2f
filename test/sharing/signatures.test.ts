import { randomBytes } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { fingerprintOf } from '../../app/identities/public-identity.ts';
import { proofHeader } from '../support/accounts/reauth-account.ts';
import { storeDocument } from '../support/documents/documents.ts';
import {
  askKey,
  createPerson,
  createRecipient,
  entriesOf,
  share,
  strangersAddress,
} from '../support/documents/people.ts';
import { newSharingKey, putKey } from '../support/documents/sharing-keys.ts';
import type { Api } from '../support/documents/uploads.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import type { Vault } from '../support/vault/vault.ts';

const test = anyTest as TestFn<{ vault: Vault }>;

test.before((t) => {
  t.context.vault = sharedVault();
});

type Json = Record<string, unknown>;

async function firstReceived(api: Api): Promise<Json> {
  const { body } = await api.send('GET', '/v1/documents/shared');
  return (body as unknown as Json[])[0] ?? {};
}

test('a recipient gets the signature and the identity that the sharer had then', async (t) => {
  const { vault } = t.context;
  const sharer = await createRecipient(t, vault);
  const { publicKey, signingKey } = sharer;
  const recipient = await createRecipient(t, vault);
  const { id } = await storeDocument(t, sharer.api);
  const signature = randomBytes(64).toString('base64');
  const { status } = await share(sharer.api, id, { recipientEmail: recipient.email, signature });
  t.is(status, 201);
  const headers = { ...(await proofHeader(vault, sharer.api.caller)), 'If-Match': '*' };
  t.is((await putKey(sharer.api, newSharingKey(), headers)).status, 200);
  t.like(await firstReceived(recipient.api), {
    signature,
    sharer: { publicKey, signingKey, fingerprint: fingerprintOf({ publicKey, signingKey }) },
  });
});

test('a signature has 64 bytes', async (t) => {
  const { vault } = t.context;
  const { api } = await createPerson(vault);
  const { id } = await storeDocument(t, api);
  const recipientEmail = strangersAddress();
  for (const bytes of [0, 63, 65, 66]) {
    const signature = randomBytes(bytes).toString('base64');
    const { body } = await share(api, id, { recipientEmail, signature });
    t.is(body.code, 'validation_failed', String(bytes));
  }
  for (const signature of ['jam', null, 1]) {
    t.is((await share(api, id, { recipientEmail, signature })).status, 400);
  }
});

test('the entry of a share names the identity that was shown, also a decoy’s', async (t) => {
  const { vault } = t.context;
  const { api } = await createPerson(vault);
  const { id } = await storeDocument(t, api);
  const recipient = await createRecipient(t, vault);
  const expected: unknown[] = [];
  for (const email of [recipient.email, strangersAddress()]) {
    const { recipientId, fingerprint } = (await askKey(api, email)).body;
    const { body } = await share(api, id, { recipientId });
    expected.push({
      shareId: body.id,
      recipientId,
      recipientFingerprint: fingerprint,
      version: null,
      permissions: 'read',
      expiresAt: null,
      signed: false,
    });
  }
  const entries = (await entriesOf(vault, id)) as { readonly action: string; data: Json }[];
  const shared = entries.filter(({ action }) => action === 'document.shared');
  t.deepEqual(
    shared.map(({ data }) => data),
    expected,
  );
});

test('a user without a signing key cannot be told from one who has one', async (t) => {
  const { vault } = t.context;
  const { api } = await createPerson(vault);
  const without = await createPerson(vault);
  const { publicKey, wrappedPrivateKey } = newSharingKey();
  t.is((await putKey(without.api, { publicKey, wrappedPrivateKey })).status, 200);
  const shown = (await askKey(api, without.email)).body;
  t.is(shown['publicKey'], publicKey);
  t.deepEqual(Object.keys(shown), Object.keys((await askKey(api, strangersAddress())).body));
  t.deepEqual((await askKey(api, without.email)).body, shown);
});
