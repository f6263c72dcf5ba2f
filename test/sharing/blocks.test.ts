import { randomUUID } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { storeDocument } from '../support/documents/documents.ts';
import { countStatuses } from '../support/documents/files.ts';
import {
  askKey,
  createPerson,
  createRecipient,
  entriesOf,
  share,
} from '../support/documents/people.ts';
import type { Answer, Api } from '../support/documents/uploads.ts';
import { createSql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { nextPage } from '../support/http/next-page.ts';

const test = anyTest as TestFn<{ vault: TestVault }>;

test.before(async (t) => {
  t.context.vault = await startReadyVault();
});
test.after.always((t) => t.context.vault.stop());

const path = '/v1/documents/shared/blocked-senders';
const block = (api: Api, senderId: string) => api.send('PUT', `${path}/${senderId}`);
const unblock = (api: Api, senderId: string) => api.send('DELETE', `${path}/${senderId}`);

/** Returns the documents that others share with a user, oldest share first. */
async function received(api: Api): Promise<string[]> {
  const { body } = await api.send('GET', '/v1/documents/shared');
  return (Object.values(body) as { documentId: string }[])
    .map(({ documentId }) => documentId)
    .toReversed();
}

async function createPair(t: ExecutionContext<{ vault: TestVault }>) {
  const { vault } = t.context;
  const sender = await createPerson(vault);
  const recipient = await createRecipient(t, vault);
  const send = async () => {
    const { id } = await storeDocument(t, sender.api);
    const answer = await share(sender.api, id, { recipientEmail: recipient.email });
    t.is(answer.status, 201);
    return { id, answer };
  };
  return { vault, sender, recipient, send };
}

const shapeOf = ({ status, headers, body }: Answer) => ({
  status,
  headers: [...headers.keys()],
  fields: Object.entries(body).map(([name, value]) => [name, String(value).length]),
});

test('a recipient sees nothing that a blocked sender shares', async (t) => {
  const { vault, sender, recipient, send } = await createPair(t);
  const before = await send();
  const other = await createPerson(vault);
  const { id: othersId } = await storeDocument(t, other.api);
  await share(other.api, othersId, { recipientEmail: recipient.email });

  const { status, body } = await block(recipient.api, sender.userId);
  t.is(status, 200);
  t.is(body.senderId, sender.userId);
  const during = await send();
  t.deepEqual(await received(recipient.api), [othersId]);
  for (const { id } of [before, during]) {
    for (const rest of ['', '/hash', '/versions']) {
      t.is((await recipient.api.send('GET', `/v1/documents/${id}${rest}`)).status, 404);
    }
    t.is((await sender.api.send('GET', `/v1/documents/${id}`)).status, 200);
  }
});

test('nothing tells a sender of a block', async (t) => {
  const { sender, recipient, send } = await createPair(t);
  const key = await askKey(sender.api, recipient.email);
  const before = await send();
  const listed = await sender.api.send('GET', `/v1/documents/${before.id}/shares`);
  await block(recipient.api, sender.userId);

  t.deepEqual((await askKey(sender.api, recipient.email)).body, key.body);
  const during = await send();
  t.deepEqual(shapeOf(during.answer), shapeOf(before.answer));
  t.is(during.answer.body.recipientId, before.answer.body.recipientId);
  const again = await share(sender.api, during.id, { recipientEmail: recipient.email });
  t.is(again.body.code, 'share_exists');
  const lists = await sender.api.send('GET', `/v1/documents/${before.id}/shares`);
  t.deepEqual(lists.body, listed.body);
  const { id } = await storeDocument(t, sender.api);
  const { recipientId } = key.body;
  t.is((await share(sender.api, id, { recipientId })).status, 201, 'a share by recipient id');
  t.deepEqual(await received(recipient.api), []);
});

test('after a block its recipient sees earlier shares again, but no others', async (t) => {
  const { sender, recipient, send } = await createPair(t);
  const [before] = [await send()];
  await block(recipient.api, sender.userId);
  const during = await send();
  t.is((await unblock(recipient.api, sender.userId)).status, 204);
  t.deepEqual(await received(recipient.api), [before.id]);
  t.is((await recipient.api.send('GET', `/v1/documents/${during.id}`)).status, 404);
  const after = await send();
  t.deepEqual(await received(recipient.api), [before.id, after.id]);

  const shareId = String(during.answer.body.id);
  await sender.api.send('DELETE', `/v1/documents/${during.id}/shares/${shareId}`);
  await share(sender.api, during.id, { recipientEmail: recipient.email });
  t.deepEqual(await received(recipient.api), [before.id, after.id, during.id]);
});

test('a block holds for its own user, sender and tenant only', async (t) => {
  const { vault, sender, recipient, send } = await createPair(t);
  const { id } = await storeDocument(t, sender.api);
  const neighbour = await createRecipient(t, vault);
  await share(sender.api, id, { recipientEmail: neighbour.email });
  const elsewhere = await createRecipient(t, vault, { tenantId: 'elsewhere' });
  await block(elsewhere.api, sender.userId);
  await block(sender.api, recipient.userId);
  await createSql(vault)(
    `insert into sender_blocks (user_id, tenant_id, sender_id) values ($1, 'elsewhere', $2)`,
    [recipient.userId, sender.userId],
  );
  const sent = await send();
  t.deepEqual(await received(recipient.api), [sent.id]);
  t.deepEqual(await received(neighbour.api), [id]);
});

test('blocks are idempotent, listed in pages and ended once', async (t) => {
  const { api } = await createPerson(t.context.vault);
  const ids = Array.from({ length: 5 }, () => randomUUID()).toSorted();
  const first = await Promise.all(ids.map((id) => block(api, id)));
  t.deepEqual(countStatuses(first), { 200: 5 });
  for (const [index, id] of ids.entries()) {
    t.deepEqual((await block(api, id)).body, first[index]?.body);
    t.is((await entriesOf(t.context.vault, id)).length, 1);
  }
  const page = await api.send('GET', `${path}?limit=3`);
  t.deepEqual(
    Object.values(page.body),
    first.slice(0, 3).map(({ body }) => body),
  );
  const rest = await api.send('GET', nextPage(path, page.headers) ?? '');
  t.deepEqual(
    Object.values(rest.body),
    first.slice(3).map(({ body }) => body),
  );
  t.is(rest.headers.get('link'), null);

  const [id = ''] = ids;
  const ends = await Promise.all(Array.from({ length: 4 }, () => unblock(api, id)));
  t.deepEqual(countStatuses(ends), { 204: 1, 404: 3 });
  t.is(Object.keys((await api.send('GET', `/api${path}`)).body).length, 4);
});

test('a user blocks at most a thousand senders, whoever these are', async (t) => {
  const { vault } = t.context;
  const { api, userId } = await createPerson(vault);
  await createSql(vault)(
    `insert into sender_blocks (user_id, tenant_id, sender_id)
     select $1, 'default', gen_random_uuid() from generate_series(1, 995)`,
    [userId],
  );
  const ids = Array.from({ length: 12 }, () => randomUUID());
  const answers = await Promise.all(ids.map((id) => block(api, id)));
  t.deepEqual(countStatuses(answers), { 200: 5, 429: 7 });
  const refused = answers.find(({ status }) => status === 429);
  t.is(refused?.body.code, 'quota_exceeded');
  t.regex(JSON.stringify(refused?.body.details), /1000/);
  t.truthy(refused?.headers.get('retry-after'));
  const blocked = ids.find((_, index) => answers[index]?.status === 200) ?? '';
  t.is((await block(api, blocked)).status, 200, 'an existing block');
  await unblock(api, blocked);
  t.is((await block(api, randomUUID())).status, 200);
});

test('one cannot block oneself, or what is no user id', async (t) => {
  const { api, userId } = await createPerson(t.context.vault);
  for (const id of [userId, userId.toUpperCase(), 'me', '1']) {
    t.is((await block(api, id)).body.code, 'validation_failed', id);
  }
  t.deepEqual((await api.send('GET', path)).body, []);
});

test('each block and its end leave an entry of the user who blocks', async (t) => {
  const { vault, sender, recipient } = await createPair(t);
  await block(recipient.api, sender.userId);
  await unblock(recipient.api, sender.userId);
  const [blocked, unblocked] = (await entriesOf(vault, sender.userId)).filter(
    (entry) => (entry as { resource: { type: string } }).resource.type === 'sender',
  );
  const resource = { type: 'sender', id: sender.userId, owner: recipient.userId };
  const actor = { type: 'user', id: recipient.userId };
  t.like(blocked, { action: 'sender.blocked', actor, resource, seq: 1, data: {} });
  t.like(unblocked, { action: 'sender.unblocked', actor, resource, seq: 2, data: {} });
});

test('a recipient removes a share from the list, and its sharer notices nothing', async (t) => {
  const { vault, sender, recipient, send } = await createPair(t);
  const [one, other] = [await send(), await send()];
  const shareId = String(one.answer.body.id);
  const shares = () => sender.api.send('GET', `/v1/documents/${one.id}/shares`);
  const before = await shares();
  const remove = (api: Api, id: string) => api.send('DELETE', `/v1/documents/shared/${id}`);
  for (const stranger of [sender, await createRecipient(t, vault)]) {
    t.is((await remove(stranger.api, shareId)).status, 404);
  }
  t.deepEqual(await received(recipient.api), [one.id, other.id]);

  const answers = await Promise.all([1, 2, 3].map(() => remove(recipient.api, shareId)));
  t.deepEqual(countStatuses(answers), { 204: 1, 404: 2 });
  t.deepEqual(await received(recipient.api), [other.id]);
  t.is((await recipient.api.send('GET', `/v1/documents/${one.id}`)).status, 404);
  t.deepEqual((await shares()).body, before.body);
  const [entry] = await entriesOf(vault, shareId);
  t.like(entry, {
    action: 'share.removed',
    actor: { type: 'user', id: recipient.userId },
    resource: { type: 'share', id: shareId, owner: recipient.userId },
    data: { documentId: one.id },
  });
});
