import anyTest, { type TestFn } from 'ava';
import { encodeBase64 } from '../../client/bytes/base64.ts';
import { encryptMetadata } from '../../client/documents/metadata.ts';
import { openDocument } from '../../client/documents/open-document.ts';
import { createIdentities } from '../../client/identity/identities.ts';
import { createReadNames } from '../../client/sessions/account-names.ts';
import { createIdentity, fingerprintOf, type Identity } from '../../client/identity/identity.ts';
import { IdentityError } from '../../client/identity/identity-error.ts';
import { createDocumentKey } from '../../client/keys/document-key.ts';
import { sealDocumentKey } from '../../client/sharing/wrap.ts';
import { signShare } from '../../client/sharing/share-signature.ts';
import { gather } from '../support/client/collect.ts';
import { createTestMemory } from '../support/client/memory-store.ts';
import { storeBytes, toolsOf } from '../support/client/stored.ts';
import { assertCaught, createVictim, logInWith, receiveShare, rekey, type Victim } from './liar.ts';

interface Context {
  readonly victim: Victim;
  readonly bob: Victim;
}

const test = anyTest as TestFn<Context>;
const received = /^GET .*\/shared$/;
const shareKey = /^POST .*\/share-key$/;

test.beforeEach(async (t) => {
  t.context = { victim: await createVictim(), bob: await createVictim() };
});

function identityOf({ session }: Victim): Promise<Identity> {
  const { http } = session;
  const openKeyring = () => session.envelopes.openKeyring();
  return createIdentities({ http, openKeyring, readNames: createReadNames(session) }).open();
}

const publicOf = ({ publicKey, signingKey }: Identity) => ({
  publicKey: encodeBase64(publicKey),
  signingKey: encodeBase64(signingKey),
});

const anyHash = '00'.repeat(32);
const anyContent = { seed: anyHash, root: anyHash, sha256: anyHash };

interface Forgery {
  readonly signer: Identity;
  readonly documentId?: string;
  readonly version?: number;
  readonly ownerId?: string;
}

/** Makes a share that the vault shows the victim, of a document that anybody can make. */
async function forge(
  { victim }: Context,
  { signer, documentId = crypto.randomUUID(), version = 1, ownerId }: Forgery,
) {
  const recipient = await identityOf(victim);
  const documentKey = createDocumentKey();
  const wrappedKey = await sealDocumentKey(recipient.publicKey, documentId, documentKey);
  const fileHash = 'ab'.repeat(32);
  const previous = version === 1 ? null : '0'.repeat(64);
  const encryptedMetadata = await encryptMetadata(
    { masterKey: documentKey, documentKey },
    { documentId, version, change: 0, previous, keyGeneration: 1 },
    { name: 'forged', mediaType: 'a/b', size: 1, keywords: [], fileHash, content: anyContent },
  );
  return {
    shareId: crypto.randomUUID(),
    documentId,
    ownerId: ownerId ?? crypto.randomUUID(),
    version: null,
    wrappedKey: encodeBase64(wrappedKey),
    permissions: ['read'],
    encryptedMetadata,
    fileHash,
    status: 'PENDING',
    expiresAt: null,
    createdAt: new Date(0).toISOString(),
    signature: signShare(signer, { documentId, version: null, recipient, wrappedKey }),
    sharer: publicOf(signer),
  };
}

/** Confirms Bob's keys by sharing something with him. */
async function confirmBob({ victim, bob }: Context) {
  const { document } = await storeBytes(victim, 10);
  const { fingerprint } = await bob.session.enableSharing();
  const { email } = bob.credentials;
  await victim.session.shareDocument(document.id, email, { fingerprint });
  return { email, fingerprint };
}

test('a share in the name of a person who was confirmed by sharing with them', async (t) => {
  const { victim, bob } = t.context;
  const { email, fingerprint } = await confirmBob(t.context);
  const stranger = await createIdentity();
  const share = await forge(t.context, { signer: stranger });
  victim.lie(received, (body) => [share, ...body]);
  const opening = victim.session.openShared(share.shareId, { email });
  const error = await t.throwsAsync(opening, { instanceOf: IdentityError });
  t.like(error, {
    code: 'sharer_key_changed',
    expected: fingerprint,
    shown: fingerprintOf(stranger),
  });
  t.is((await victim.session.openShared(share.shareId)).signedBy, undefined);
  // A true share of Bob's says so, whatever owner the vault names.
  const { share: byBob } = await receiveShare(victim, bob, 'one');
  t.is((await victim.session.openShared(byBob.id, { email })).signedBy, email);
  const listed = await gather(victim.session.listShared());
  t.deepEqual(
    listed.map(({ signedBy }) => signedBy),
    [undefined, email],
  );
});

test('a share in the name of a person of whom nothing was confirmed', async (t) => {
  const { victim, bob } = t.context;
  const { share } = await receiveShare(victim, bob, 'one');
  const { email } = bob.credentials;
  await assertCaught(t, victim.session.openShared(share.id, { email }), 'sharer_key_changed');
  const { fingerprint: sharer } = await bob.session.enableSharing();
  t.is((await victim.session.openShared(share.id, { email, sharer })).signedBy, email);
  t.is((await victim.session.openShared(share.id)).signedBy, email);
});

test('a share by somebody else under the owner’s id of a confirmed person', async (t) => {
  const { victim, bob } = t.context;
  const { email, fingerprint } = await confirmBob(t.context);
  const { share } = await receiveShare(victim, bob, 'one');
  const { ownerId } = await victim.session.openShared(share.id, { sharer: fingerprint });
  const forged = await forge(t.context, { signer: await createIdentity(), ownerId });
  victim.lie(received, (body) => [forged, ...body]);
  await assertCaught(t, victim.session.openShared(forged.shareId), 'sharer_key_changed');
  const [first, second] = await gather(victim.session.listShared());
  t.is(first?.refusal?.code, 'sharer_key_changed');
  t.is(first?.metadata, undefined);
  t.is(second?.signedBy, email);
  // The owner’s id stays Bob’s: nobody else can be confirmed under it as another person.
  const { fingerprint: carols } = await (await createVictim()).session.enableSharing();
  const asCarol = { email: 'carol@other.example', sharer: carols };
  await assertCaught(t, victim.session.openShared(forged.shareId, asCarol), 'sharer_key_changed');
});

test('the id or the keys of another confirmed person, in place of the recipient’s', async (t) => {
  const { victim } = t.context;
  const { email: bobs, fingerprint } = await confirmBob(t.context);
  const carol = await createVictim();
  const { email } = carol.credentials;
  const { fingerprint: carols } = await carol.session.enableSharing();
  const { document } = await storeBytes(victim, 10);
  let shownToBob: Record<string, unknown> = {};
  victim.lie(shareKey, (body) => (shownToBob = body));
  const again = await storeBytes(victim, 10);
  await victim.session.shareDocument(again.document.id, bobs, { fingerprint });
  victim.tellTruth();
  const { recipientId } = shownToBob;
  victim.lie(shareKey, (body) => Object.assign(body, { recipientId }));
  const sharing = victim.session.shareDocument(document.id, email, { fingerprint: carols });
  const error = await t.throwsAsync(sharing, { instanceOf: IdentityError });
  t.like(error, { code: 'identity_taken', owner: bobs });
  victim.tellTruth();
  victim.lie(shareKey, () => shownToBob);
  const confirm = () => t.fail('the user must not be asked about keys of somebody else');
  const careless = victim.session.shareDocument(document.id, email, {
    confirm: () => (confirm(), true),
  });
  await assertCaught(t, careless, 'identity_taken');
  victim.tellTruth();
  t.is((await victim.session.memory.person(email))?.fingerprints[0], undefined);
  await victim.session.shareDocument(document.id, email, { fingerprint: carols });
});

test('a new share signed by an identity that its owner has replaced', async (t) => {
  const { victim, bob } = t.context;
  const { email, fingerprint: earlier } = await confirmBob(t.context);
  const stolen = await identityOf(bob);
  const { share: before } = await receiveShare(victim, bob, 'before');
  const { share: unseen } = await receiveShare(victim, bob, 'unseen');
  const { ownerId } = await victim.session.openShared(before.id, { email });
  await rekey(bob);
  const { fingerprint } = await bob.session.enableSharing();
  const { document } = await storeBytes(victim, 10);
  await victim.session.shareDocument(document.id, email, { fingerprint });
  const forged = await forge(t.context, { signer: stolen, ownerId });
  const elsewhere = await forge(t.context, { signer: stolen });
  victim.lie(received, (body) => [forged, elsewhere, ...body]);
  for (const { shareId } of [forged, elsewhere]) {
    const error = await t.throwsAsync(victim.session.openShared(shareId), {
      instanceOf: IdentityError,
    });
    t.like(error, { code: 'sharer_key_changed', expected: fingerprint, shown: earlier });
  }
  t.is((await victim.session.openShared(before.id)).signedBy, email, 'seen before');
  // A share cannot stand for another key or document later.
  victim.tellTruth();
  victim.lie(received, () => [{ ...forged, shareId: before.id }]);
  await assertCaught(t, victim.session.openShared(before.id), 'rolled_back');
  victim.tellTruth();
  // A caller that names the earlier fingerprint opens what was signed by it, and confirms nothing.
  await assertCaught(t, victim.session.openShared(unseen.id, { email }), 'sharer_key_changed');
  t.is((await victim.session.openShared(unseen.id, { sharer: earlier })).signedBy, email);
  t.is((await victim.session.memory.person(email))?.fingerprints[0], fingerprint);
});

test('a share of the user’s own document, in a version that is not there yet', async (t) => {
  const { victim } = t.context;
  const { document } = await storeBytes(victim, 10);
  const { id } = document;
  const signer = await createIdentity();
  const share = await forge(t.context, { signer, documentId: id, version: 4_000_000_000 });
  const session = await logInWith(victim, createTestMemory());
  victim.lie(received, () => [share]);
  await gather(session.listShared());
  await session.openShared(share.shareId);
  victim.tellTruth();
  const keys = await session.envelopes.openMasterKeys();
  t.is((await openDocument(toolsOf(session), { id, ...keys })).version, 1);
});

test('a document made with an earlier master key, shown as a share first', async (t) => {
  const { victim } = t.context;
  const { document } = await storeBytes(victim, 10);
  const { id } = document;
  const earlierKey = victim.masterKey.slice();
  const opened = await openDocument(victim.tools, { id, masterKey: earlierKey });
  const keys = await rekey(victim);
  const encryptedMetadata = await encryptMetadata(
    { masterKey: earlierKey, documentKey: opened.documentKey },
    { ...opened.place, change: 1 },
    { ...opened.metadata, name: 'forged' },
  );
  const { fileHash } = document;
  const signer = await createIdentity();
  const recipient = await identityOf(victim);
  const wrappedKey = await sealDocumentKey(recipient.publicKey, id, opened.documentKey);
  const signature = signShare(signer, { documentId: id, version: null, recipient, wrappedKey });
  const forged = await forge(t.context, { signer, documentId: id });
  const share = { ...forged, encryptedMetadata, fileHash, signature };
  victim.lie(received, () => [{ ...share, wrappedKey: encodeBase64(wrappedKey) }]);
  victim.lie(/^GET .*\/documents\/[0-9a-f-]+$/, (body) =>
    Object.assign(body, { encryptedMetadata }),
  );
  const session = await logInWith(victim, createTestMemory());
  t.is((await session.openShared(share.shareId)).metadata.name, 'forged');
  await gather(session.listShared());
  await assertCaught(t, openDocument(toolsOf(session), { id, ...keys }), 'document_unlisted');
});

test('nothing is remembered of a share that somebody else signed than expected', async (t) => {
  const { victim, bob } = t.context;
  const { fingerprint: sharer } = await bob.session.enableSharing();
  const { document, share } = await receiveShare(victim, bob, 'one');
  const forged = await forge(t.context, {
    signer: await createIdentity(),
    documentId: document.id,
    version: 7,
  });
  victim.lie(received, () => [{ ...forged, shareId: share.id }]);
  await assertCaught(t, victim.session.openShared(share.id, { sharer }), 'sharer_key_changed');
  victim.tellTruth();
  t.is((await victim.session.openShared(share.id, { sharer })).version, 1);
});
