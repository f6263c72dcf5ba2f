import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { close, createMember, prepareToClose, type Member } from '../support/accounts/closing.ts';
import { pauseAt, untilWaiting } from '../support/accounts/paused-statement.ts';
import { certify, storeDocument } from '../support/documents/documents.ts';
import { createSql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { askKey, entriesOf, share } from '../support/documents/people.ts';
import { newSharingKey, putKey } from '../support/documents/sharing-keys.ts';

const test = anyTest as TestFn<{ vault: TestVault }>;

test.before(async (t) => {
  t.context.vault = await startReadyVault();
});
test.after.always((t) => t.context.vault.stop());

async function createSharer(t: ExecutionContext, vault: TestVault): Promise<Member> {
  const member = await createMember(vault);
  t.is((await putKey(member.api, newSharingKey())).status, 200);
  return member;
}

/** Seals a document of one user and shares it with another. */
async function shareSealed(t: ExecutionContext, from: Member, to: Member) {
  const { id } = await storeDocument(t, from.api);
  await certify(from.api, id);
  const { status, body } = await share(from.api, id, { recipientEmail: to.account.email });
  t.is(status, 201, JSON.stringify(body));
  return { id, recipientId: String(body.recipientId) };
}

/** Counts the rows of a user in the tables of sharing. */
async function tracesOf(vault: TestVault, userId: string): Promise<Record<string, unknown>> {
  const [counts = {}] = await createSql(vault)(
    `select
      (select count(*)::int from sharing_keys where user_id = $1) as keys,
      (select count(*)::int from share_recipients
       where $1 in (user_id, recipient_user_id)) as recipients,
      (select count(*)::int from document_shares
       where $1 in (user_id, recipient_user_id)) as shares`,
    [userId],
  );
  return counts;
}

test('a closed account leaves no share that it gave or received, and no key', async (t) => {
  const { vault } = t.context;
  const [leaving, staying] = [await createSharer(t, vault), await createSharer(t, vault)];
  const given = await shareSealed(t, leaving, staying);
  const got = await shareSealed(t, staying, leaving);
  t.deepEqual(await tracesOf(vault, leaving.userId), { keys: 1, recipients: 2, shares: 2 });

  t.is((await close(vault, leaving)).status, 204);

  t.deepEqual(await tracesOf(vault, leaving.userId), { keys: 0, recipients: 0, shares: 0 });
  t.deepEqual(await tracesOf(vault, staying.userId), { keys: 1, recipients: 0, shares: 1 });
  t.is((await staying.api.send('GET', `/v1/documents/${given.id}`)).status, 404);
  t.is((await leaving.api.send('GET', `/v1/documents/${got.id}`)).status, 404);
  t.is((await leaving.api.send('GET', `/v1/documents/${given.id}`)).status, 200);
  const closed = (await entriesOf(vault, leaving.userId)).at(-1);
  t.like(closed, { action: 'account.closed', data: { shares: 2, sharingKeys: 1 } });
});

test('the e-mail address of a closed account looks unknown to its sharers', async (t) => {
  const { vault } = t.context;
  const [leaving, staying] = [await createSharer(t, vault), await createSharer(t, vault)];
  const { id, recipientId } = await shareSealed(t, staying, leaving);
  const { publicKey } = (await askKey(staying.api, leaving.account.email)).body;
  const before = await staying.api.send('GET', `/v1/documents/${id}/shares`);
  await close(vault, leaving);
  const again = await askKey(staying.api, leaving.account.email);
  t.is(again.status, 200);
  t.is(again.body.recipientId, recipientId);
  t.not(again.body.publicKey, publicKey);
  t.deepEqual((await staying.api.send('GET', `/v1/documents/${id}/shares`)).body, before.body);
  t.is((await share(staying.api, id, { recipientId })).status, 409);
  t.deepEqual(await tracesOf(vault, leaving.userId), { keys: 0, recipients: 0, shares: 0 });
});

test('two users who share with each other can close their accounts concurrently', async (t) => {
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const [one, other] = [await createSharer(t, vault), await createSharer(t, vault)];
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    await shareSealed(t, from, to);
    const { id } = await storeDocument(t, from.api);
    t.is((await share(from.api, id, { recipientEmail: to.account.email })).status, 201);
  }
  const closings = [await prepareToClose(vault, one), await prepareToClose(vault, other)];
  const pause = await pauseAt(vault, 'delete on document_shares');
  const answers = Promise.all(closings.map((finish) => finish()));
  await untilWaiting(vault, 2);
  await pause.end();
  t.deepEqual(
    (await answers).map(({ status }) => status),
    [204, 204],
  );
});
