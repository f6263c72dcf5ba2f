import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { addVersion } from '../../client/documents/add-version.ts';
import type { MasterKeys } from '../../client/keys/master-keys.ts';
import type { Share } from '../../client/sharing/given-shares.ts';
import { sourceOf, storeBytes, toolsOf } from '../support/client/stored.ts';
import { createVictim, rekey, type Victim } from './liar.ts';
import { addDevice } from './telling.ts';

interface Context {
  readonly victim: Victim;
  readonly friend: Victim;
}

const test = anyTest as TestFn<Context>;
const shares = /^GET .*\/shares$/;
const shareAgain = /^POST .*\/share$/;
const weekMs = 7 * 86_400_000;

test.beforeEach(async (t) => {
  t.context = { victim: await createVictim(), friend: await createVictim() };
});

/** Shares a new document with the friend, whose keys count as confirmed from then on. */
async function giveTo({ victim, friend }: Context, expiresAt?: Date) {
  const { document } = await storeBytes(victim, 10);
  const { fingerprint } = await friend.session.enableSharing();
  const { email } = friend.credentials;
  const options = { fingerprint, ...(expiresAt !== undefined && { expiresAt }) };
  const share = await victim.session.shareDocument(document.id, email, options);
  return { id: document.id, share };
}

async function addNext({ tools }: Victim, id: string, keys: MasterKeys) {
  const { shares: made } = await addVersion(tools, {
    id,
    ...keys,
    source: sourceOf(new Uint8Array(20)),
  });
  return made;
}

function assertUnconfirmed(
  t: ExecutionContext,
  made: Awaited<ReturnType<typeof addNext>>,
  shareId: string,
): void {
  t.deepEqual(made?.renewed, []);
  t.deepEqual(
    made?.unconfirmed.map(({ id }) => id),
    [shareId],
  );
}

test('a share that the vault made up, with a person whose keys were confirmed', async (t) => {
  const { victim, friend } = t.context;
  const { share } = await giveTo(t.context);
  const { document } = await storeBytes(victim, 10, { name: 'private' });
  const keys = await rekey(victim);
  const madeUp = { ...share, id: crypto.randomUUID(), documentId: document.id };
  victim.lie(shares, () => [madeUp]);
  assertUnconfirmed(t, await addNext(victim, document.id, keys), madeUp.id);
  // A true share of another document vouches for nothing either.
  victim.tellTruth();
  victim.lie(shares, () => [{ ...share, documentId: document.id }]);
  const renewed = await victim.session.renewShares(document.id);
  assertUnconfirmed(t, renewed, share.id);
  for await (const { documentId } of friend.session.listShared()) t.not(documentId, document.id);
});

test('a share that the user has ended, shown as running', async (t) => {
  const { victim } = t.context;
  const { id, share } = await giveTo(t.context);
  await victim.session.unshare(id, share.id);
  const keys = await rekey(victim);
  victim.lie(shares, () => [share]);
  assertUnconfirmed(t, await addNext(victim, id, keys), share.id);
});

test('a share that the user has ended on another device', async (t) => {
  const { victim } = t.context;
  const { id, share } = await giveTo(t.context);
  const { session } = await addDevice(victim);
  await session.unshare(id, share.id);
  await session.memory.exchange();
  await victim.session.memory.exchange();
  const keys = await rekey(victim);
  victim.lie(shares, () => [share]);
  assertUnconfirmed(t, await addNext(victim, id, keys), share.id);
});

test('a share without the end that the user gave it', async (t) => {
  const { victim } = t.context;
  const expiresAt = new Date(Date.now() + weekMs);
  const { id } = await giveTo(t.context, expiresAt);
  const keys = await rekey(victim);
  victim.lie(shares, (body) => body.map((each) => ({ ...each, expiresAt: null })));
  const ends: unknown[] = [];
  victim.lie(shareAgain, (body) => {
    ends.push(body['expiresAt']);
    return body;
  });
  t.is((await addNext(victim, id, keys))?.renewed.length, 1);
  t.deepEqual(ends, [expiresAt.toISOString()]);
});

test('a share that ended by its time, shown without an end', async (t) => {
  const { victim } = t.context;
  const { id, share } = await giveTo(t.context);
  const given = await victim.session.memory.givenShare(share.id);
  if (given === undefined) throw new Error('The share is not remembered.');
  // The share has ended meanwhile.
  await victim.session.memory.gaveShare(share.id, {
    ...given,
    expiresAt: new Date(0).toISOString(),
  });
  const keys = await rekey(victim);
  assertUnconfirmed(t, await addNext(victim, id, keys), share.id);
});

test('a share of one version, shown as one of all', async (t) => {
  const { victim, friend } = t.context;
  const { document } = await storeBytes(victim, 10);
  const { fingerprint } = await friend.session.enableSharing();
  const share = await victim.session.shareDocument(document.id, friend.credentials.email, {
    fingerprint,
    version: 1,
  });
  const keys = await rekey(victim);
  victim.lie(shares, () => [{ ...share, version: null } satisfies Share]);
  assertUnconfirmed(t, await addNext(victim, document.id, keys), share.id);
});

test('a share that the user gave on another device is made anew', async (t) => {
  const { victim } = t.context;
  const { session } = await addDevice(victim);
  const { id } = await giveTo({ ...t.context, victim: { ...victim, session } });
  await session.memory.exchange();
  const other = await addDevice(victim);
  const { password } = victim.credentials;
  const draft = await other.session.draftRekey({ password, keepPassword: true });
  await draft.confirm(draft.words);
  const keys = await other.session.envelopes.openMasterKeys();
  const made = await addNext({ ...victim, tools: toolsOf(other.session) }, id, keys);
  t.is(made?.renewed.length, 1);
});
