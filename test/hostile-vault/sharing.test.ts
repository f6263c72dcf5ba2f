import anyTest, { type TestFn } from 'ava';
import { decodeBase64, encodeBase64 } from '../../client/bytes/base64.ts';
import { addVersion } from '../../client/documents/add-version.ts';
import { openDocument } from '../../client/documents/open-document.ts';
import { createIdentity } from '../../client/identity/identity.ts';
import { wrapPrivateKey, wrapSigningSeed } from '../../client/identity/wrap.ts';
import { signShare } from '../../client/sharing/share-signature.ts';
import { sourceOf, storeBytes } from '../support/client/stored.ts';
import { assertCaught, createVictim, type Victim } from './liar.ts';

type Json = Record<string, unknown>;

interface Context {
  readonly victim: Victim;
  /** Somebody with whom the victim shares, and who lies to nobody. */
  readonly friend: Victim;
  readonly friendsKey: { readonly fingerprint: string };
  readonly victimsKey: { readonly fingerprint: string };
}

const test = anyTest as TestFn<Context>;

const shareKey = /^POST .*\/share-key$/;
const received = /^GET .*\/shared$/;
const ownKey = /^GET .*\/keys\/sharing$/;

test.before(async (t) => {
  const [victim, friend] = [await createVictim(), await createVictim()];
  const victimsKey = await victim.session.enableSharing();
  const friendsKey = await friend.session.enableSharing();
  t.context = { victim, friend, friendsKey, victimsKey };
});
test.afterEach.always(async (t) => {
  t.context.victim.tellTruth();
  await t.context.victim.session.memory.forgetAll();
});

/** Stores two documents of the friend, and shares the first with the victim. */
async function receive({ friend, victim, victimsKey }: Context) {
  const { document: one } = await storeBytes(friend, 100, { name: 'one' });
  const { document: other } = await storeBytes(friend, 100, { name: 'other' });
  const { email } = victim.credentials;
  const share = await friend.session.shareDocument(one.id, email, victimsKey);
  return { one, other, share };
}

test.serial('a share by the owner of the expected fingerprint opens', async (t) => {
  const { victim, friendsKey } = t.context;
  const { share } = await receive(t.context);
  const opened = await victim.session.openShared(share.id, { sharer: friendsKey.fingerprint });
  t.is(opened.metadata.name, 'one');
  t.is(opened.sharerFingerprint, friendsKey.fingerprint);
});

test.serial('the metadata of another document in a share', async (t) => {
  const { victim } = t.context;
  const { other, share } = await receive(t.context);
  const { encryptedMetadata } = other;
  victim.lie(received, (body) => body.map((each) => ({ ...each, encryptedMetadata })));
  await assertCaught(t, victim.session.openShared(share.id), 'document_mismatch');
});

test.serial('a share under the id of another document', async (t) => {
  const { victim } = t.context;
  const { other, share } = await receive(t.context);
  victim.lie(received, (body) => body.map((each) => ({ ...each, documentId: other.id })));
  await assertCaught(t, victim.session.openShared(share.id), 'invalid_share');
});

test.serial('a share whose signature was removed', async (t) => {
  const { victim, friendsKey } = t.context;
  const { share } = await receive(t.context);
  victim.lie(received, (body) => body.map((each) => ({ ...each, signature: null })));
  const expecting = { sharer: friendsKey.fingerprint };
  await assertCaught(t, victim.session.openShared(share.id, expecting), 'sharer_key_changed');
  t.is((await victim.session.openShared(share.id)).sharerFingerprint, undefined);
});

test.serial('a share under the signature of another share', async (t) => {
  const { victim } = t.context;
  const { share } = await receive(t.context);
  await receive(t.context);
  victim.lie(received, (body) => {
    const [newest] = body;
    return body.map((each) => ({ ...each, signature: newest?.['signature'] }));
  });
  await assertCaught(t, victim.session.openShared(share.id), 'invalid_share');
});

test.serial('a share in the name of a friend, signed by a stranger’s keys', async (t) => {
  const { victim, friendsKey } = t.context;
  const { share } = await receive(t.context);
  const stranger = await createIdentity();
  const { publicKey, signingKey } = await keysOf(victim);
  victim.lie(received, (body) =>
    body.map((each) => {
      const wrappedKey = decodeBase64(String(each['wrappedKey']));
      const recipient = {
        publicKey: decodeBase64(publicKey),
        signingKey: decodeBase64(signingKey),
      };
      const documentId = String(each['documentId']);
      const signature = signShare(stranger, { documentId, version: null, recipient, wrappedKey });
      return { ...each, signature, sharer: publicOf(stranger) };
    }),
  );
  const expecting = { sharer: friendsKey.fingerprint };
  await assertCaught(t, victim.session.openShared(share.id, expecting), 'sharer_key_changed');
});

test.serial('a share that a friend made, in the name of a stranger', async (t) => {
  const { victim } = t.context;
  const { share } = await receive(t.context);
  const sharer = publicOf(await createIdentity());
  victim.lie(received, (body) => body.map((each) => ({ ...each, sharer })));
  await assertCaught(t, victim.session.openShared(share.id), 'invalid_share');
});

test.serial('a share that was made for somebody else', async (t) => {
  const { friend, victim, friendsKey } = t.context;
  const { document } = await storeBytes(victim, 100, { name: 'mine' });
  const { email } = friend.credentials;
  const { id } = await victim.session.shareDocument(document.id, email, friendsKey);
  const forFriend: Json[] = [];
  for await (const {
    metadata: _,
    sharerFingerprint: _signer,
    ...item
  } of friend.session.listShared()) {
    if (item.shareId === id) forFriend.push({ ...item, sharer: null, signature: null });
  }
  t.is(forFriend.length, 1);
  victim.lie(received, () => forFriend);
  await assertCaught(t, victim.session.openShared(id), 'invalid_share');
});

test.serial('a share of one version in place of another version, or of all', async (t) => {
  const { friend, victim, victimsKey } = t.context;
  const { document } = await storeBytes(friend, 100, { name: 'first' });
  const owned = { id: document.id, masterKey: friend.masterKey };
  const source = sourceOf(new Uint8Array(50));
  await addVersion(friend.tools, { ...owned, source, name: 'second' });
  const { email } = victim.credentials;
  const options = { ...victimsKey, version: 1 };
  const share = await friend.session.shareDocument(document.id, email, options);
  t.is((await victim.session.openShared(share.id)).metadata.name, 'first');
  for (const version of [2, null]) {
    victim.lie(received, (body) => body.map((each) => ({ ...each, version })));
    await assertCaught(t, victim.session.openShared(share.id), 'invalid_share');
    victim.lie(received, (body) => body.map((each) => ({ ...each, signature: null })));
    await assertCaught(t, victim.session.openShared(share.id), 'invalid_share');
    victim.tellTruth();
  }
  const { document: second } = await openDocument(friend.tools, owned);
  const { encryptedMetadata, fileHash } = second;
  victim.lie(received, (body) =>
    body.map((each) => ({ ...each, encryptedMetadata, fileHash, signature: null })),
  );
  await assertCaught(t, victim.session.openShared(share.id), 'version_mismatch');
});

for (const member of ['publicKey', 'signingKey'] as const) {
  test.serial(`another ${member} in place of the recipient’s`, async (t) => {
    const { friend, victim, friendsKey } = t.context;
    const { document } = await storeBytes(victim, 100);
    const forged = publicOf(await createIdentity())[member];
    victim.lie(shareKey, (body) => Object.assign(body, { [member]: forged }));
    const { email } = friend.credentials;
    const sharing = victim.session.shareDocument(document.id, email, friendsKey);
    await assertCaught(t, sharing, 'recipient_key_changed');
    const confirming = victim.session.shareDocument(document.id, email, {
      confirm: (shown) => shown === friendsKey.fingerprint,
    });
    await assertCaught(t, confirming, 'recipient_refused');
  });

  test.serial(`another ${member} in the user’s own identity`, async (t) => {
    const { victim } = t.context;
    const forged = publicOf(await createIdentity())[member];
    victim.lie(ownKey, (body) => Object.assign(body, { [member]: forged }));
    await assertCaught(t, victim.session.enableSharing(), 'invalid_envelope');
    await assertCaught(t, victim.session.listShared().next(), 'invalid_envelope');
  });
}

test.serial('an identity of the vault’s own in place of the user’s', async (t) => {
  const { victim } = t.context;
  const made = await createIdentity();
  const anyKey = new Uint8Array(32);
  const wrappedPrivateKey = encodeBase64(await wrapPrivateKey(anyKey, made.privateKey));
  const wrappedSigningKey = encodeBase64(await wrapSigningSeed(anyKey, made.signingSeed));
  const keys = { ...publicOf(made), wrappedPrivateKey, wrappedSigningKey };
  victim.lie(ownKey, (body) => Object.assign(body, keys));
  await assertCaught(t, victim.session.enableSharing(), 'invalid_envelope');
});

test.serial('a signing key that is said never to have been stored', async (t) => {
  const { friend, victim, friendsKey } = t.context;
  victim.lie(ownKey, (body) => Object.assign(body, { wrappedSigningKey: null }));
  const { document } = await storeBytes(victim, 100);
  const { email } = friend.credentials;
  const sharing = victim.session.shareDocument(document.id, email, friendsKey);
  await assertCaught(t, sharing, 'identity_incomplete');
});

function publicOf({ publicKey, signingKey }: Awaited<ReturnType<typeof createIdentity>>) {
  return { publicKey: encodeBase64(publicKey), signingKey: encodeBase64(signingKey) };
}

async function keysOf({ session }: Victim) {
  const { body } = await session.http.send({ method: 'GET', path: '/v1/crypto/keys/sharing' });
  return body as { readonly publicKey: string; readonly signingKey: string };
}
