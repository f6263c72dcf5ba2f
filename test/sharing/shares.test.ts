import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { pauseAt, untilWaiting } from '../support/accounts/paused-statement.ts';
import { appendEntries, openTrail } from '../support/audit/entries.ts';
import { startVaultWithSigner } from '../support/audit/killable-signer.ts';
import { storeDocument } from '../support/documents/documents.ts';
import type { Api } from '../support/documents/uploads.ts';
import { countStatuses } from '../support/documents/files.ts';
import { createSql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import {
  aShare,
  askKey,
  createPerson,
  createRecipient,
  endShare,
  entriesOf,
  share,
  strangersAddress,
} from '../support/documents/people.ts';
import { newSharingKey, putKey } from '../support/documents/sharing-keys.ts';
import { nextPage } from '../support/http/next-page.ts';

const test = anyTest as TestFn<{ vault: TestVault }>;

test.before(async (t) => {
  t.context.vault = await startReadyVault();
});
test.after.always((t) => t.context.vault.stop());

const list = (api: Api, id: string, query = '') =>
  api.send('GET', `/v1/documents/${id}/shares${query}`);
const unshare = (api: Api, id: string, shareId: unknown) =>
  api.send('DELETE', `/v1/documents/${id}/shares/${String(shareId)}`);

test('a share is returned and listed alike for known and unknown recipients', async (t) => {
  const { vault } = t.context;
  const { api } = await createPerson(vault);
  const { id } = await storeDocument(t, api);
  const { email } = await createRecipient(t, vault);
  const expiresAt = '2999-12-31T00:00:00.000Z';
  const answers = [];
  for (const recipientEmail of [email, strangersAddress()]) {
    const { recipientId } = (await askKey(api, recipientEmail)).body;
    const answer = await share(api, id, { recipientEmail, expiresAt });
    t.is(answer.status, 201);
    t.like(answer.body, { documentId: id, recipientId, permissions: ['read'], expiresAt });
    answers.push(answer);
  }
  const shapes = answers.map(({ headers, body }) => ({
    headers: [...headers.keys()],
    fields: Object.entries(body).map(([name, value]) => [name, String(value).length]),
  }));
  t.deepEqual(shapes[1], shapes[0]);
  t.deepEqual(Object.keys(answers[0]?.body ?? {}).sort(), [
    'createdAt',
    'documentId',
    'expiresAt',
    'id',
    'permissions',
    'recipientId',
    'version',
  ]);
  t.deepEqual((await list(api, id)).body, answers.map(({ body }) => body).toReversed());
});

test('a recipient is named by e-mail address or by id, but not by both', async (t) => {
  const { vault } = t.context;
  const { api } = await createPerson(vault);
  const [one, other] = [await storeDocument(t, api), await storeDocument(t, api)];
  const { email, userId } = await createRecipient(t, vault);
  const byEmail = await share(api, one.id, { recipientEmail: email });
  const { recipientId } = byEmail.body;
  t.is((await share(api, other.id, { recipientId })).status, 201);
  const rows = await createSql(vault)(
    'select document_id from document_shares where recipient_user_id = $1 order by id',
    [userId],
  );
  t.deepEqual(
    rows.map((row) => row['document_id']),
    [one.id, other.id],
  );
  for (const neither of [{}, { recipientId: randomUUID(), recipientEmail: email }]) {
    t.is((await share(api, one.id, neither)).body.code, 'validation_failed');
  }
});

test('a share with an unknown recipient id, or one of another sharer, succeeds too', async (t) => {
  const { vault } = t.context;
  const { api } = await createPerson(vault);
  const { id } = await storeDocument(t, api);
  const { email } = await createRecipient(t, vault);
  const others = (await askKey((await createPerson(vault)).api, email)).body.recipientId;
  for (const recipientId of [randomUUID(), others]) {
    const { status, body } = await share(api, id, { recipientId });
    t.is(status, 201);
    t.is(body.recipientId, recipientId);
  }
  const rows = await createSql(vault)(
    'select recipient_user_id from document_shares where document_id = $1',
    [id],
  );
  t.deepEqual(rows, [{ recipient_user_id: null }, { recipient_user_id: null }]);
});

test('a second share with a recipient is refused until the first one has ended', async (t) => {
  const { vault } = t.context;
  const { api } = await createPerson(vault);
  const { id } = await storeDocument(t, api);
  const { email } = await createRecipient(t, vault);
  for (const recipientEmail of [email, strangersAddress()]) {
    const first = await share(api, id, { recipientEmail });
    const second = await share(api, id, { recipientEmail });
    t.is(second.status, 409);
    t.is(second.body.code, 'share_exists');
    await endShare(vault, first.body.id);
    const third = await share(api, id, { recipientEmail });
    t.is(third.status, 201);
    t.not(third.body.id, first.body.id);
    t.is((await unshare(api, id, first.body.id)).status, 404);
  }
  const { body } = await list(api, id);
  t.is(Object.keys(body).length, 2);
});

test('a share repeated under its Idempotency-Key is replayed', async (t) => {
  const { api } = await createPerson(t.context.vault);
  const { id } = await storeDocument(t, api);
  const request = {
    json: { ...aShare, recipientEmail: strangersAddress() },
    headers: { 'Idempotency-Key': randomUUID() },
  };
  const first = await api.send('POST', `/v1/documents/${id}/share`, request);
  const second = await api.send('POST', `/v1/documents/${id}/share`, request);
  t.is(second.status, 201);
  t.deepEqual(second.body, first.body);
  t.is((await entriesOf(t.context.vault, id)).length, 2);
});

test('one of ten concurrent shares with one recipient is created', async (t) => {
  const { vault } = t.context;
  const { api } = await createPerson(vault);
  const { id } = await storeDocument(t, api);
  const { email } = await createRecipient(t, vault);
  const shareTen = (recipientEmail: string) =>
    Promise.all(Array.from({ length: 10 }, () => share(api, id, { recipientEmail })));
  t.deepEqual(countStatuses(await shareTen(email)), { 201: 1, 409: 9 });
  t.deepEqual(countStatuses(await shareTen(strangersAddress())), { 201: 1, 409: 9 });
});

test('a share of a document that is being deleted is not found', async (t) => {
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const { api } = await createPerson(vault);
  const { id } = await storeDocument(t, api);
  const pause = await pauseAt(vault, 'delete on documents');
  const deletion = api.send('DELETE', `/v1/documents/${id}`);
  await untilWaiting(vault, 1);
  const late = share(api, id, { recipientId: randomUUID() });
  await untilWaiting(vault, 2);
  await pause.end();
  t.is((await deletion).status, 204);
  t.is((await late).body.code, 'not_found');
});

test('a malformed share is refused', async (t) => {
  const { api } = await createPerson(t.context.vault);
  const { id } = await storeDocument(t, api);
  const refused = [
    { wrappedKey: '' },
    { wrappedKey: Buffer.alloc(1025).toString('base64') },
    { wrappedKey: undefined },
    { permissions: [] },
    { permissions: ['write'] },
    { permissions: ['read', 'read'] },
    { permissions: ['read', 'write'] },
    { expiresAt: '2020-01-01T00:00:00Z' },
    { expiresAt: new Date().toISOString() },
    { expiresAt: '2999-02-30T00:00:00Z' },
    { expiresAt: '2999-01-01T00:00:00+02:00' },
    { expiresAt: 'soon' },
    { expiresAt: null },
    { more: 1 },
  ];
  for (const wrong of refused) {
    const answer = await share(api, id, { recipientId: randomUUID(), ...wrong });
    t.is(answer.body.code, 'validation_failed', JSON.stringify(wrong));
  }
  t.is((await share(api, 'x', { recipientId: randomUUID() })).body.code, 'validation_failed');
  t.deepEqual((await list(api, id)).body, []);
  t.is((await entriesOf(t.context.vault, id)).length, 1);
});

test('shares are listed in pages, newest first', async (t) => {
  const { api } = await createPerson(t.context.vault);
  const { id } = await storeDocument(t, api);
  const ids: unknown[] = [];
  for (let n = 0; n < 5; n += 1) {
    ids.unshift((await share(api, id, { recipientId: randomUUID() })).body.id);
  }
  const listed: unknown[] = [];
  let query: string | undefined = '?limit=2';
  while (query !== undefined) {
    const { headers, body } = await list(api, id, query);
    listed.push(...Object.values(body).map((item) => (item as { id: string }).id));
    query = nextPage('', headers)?.slice(1);
  }
  t.deepEqual(listed, ids);
  t.is((await list(api, id, '?limit=0')).status, 400);
});

test('a share is ended once, under the path of its document', async (t) => {
  const { api } = await createPerson(t.context.vault);
  const [{ id }, other] = [await storeDocument(t, api), await storeDocument(t, api)];
  const shareId = (await share(api, id, { recipientId: randomUUID() })).body.id;
  t.is((await unshare(api, other.id, shareId)).status, 404);
  const answers = await Promise.all(Array.from({ length: 5 }, () => unshare(api, id, shareId)));
  t.deepEqual(countStatuses(answers), { 204: 1, 404: 4 });
  t.deepEqual((await list(api, id)).body, []);
});

test('a stranger finds no document to share, and no share to list or end', async (t) => {
  const { vault } = t.context;
  const { api } = await createPerson(vault);
  const { id } = await storeDocument(t, api);
  const shareId = (await share(api, id, { recipientId: randomUUID() })).body.id;
  const strangers = [
    await createPerson(vault),
    await createPerson(vault, { tenantId: 'elsewhere' }),
    await createPerson(vault, { roles: ['user', 'probatio_admin', 'auditor'] }),
  ];
  for (const stranger of strangers) {
    const answers = [
      await share(stranger.api, id, { recipientEmail: strangersAddress() }),
      await list(stranger.api, id),
      await unshare(stranger.api, id, shareId),
    ];
    t.deepEqual(
      answers.map(({ status, body }) => [status, body.code]),
      Array.from({ length: 3 }, () => [404, 'not_found']),
    );
  }
  t.is((await unshare(api, id, shareId)).status, 204);
});

test('each share and its end leave an entry that names nobody', async (t) => {
  const { vault } = t.context;
  const { api, userId } = await createPerson(vault);
  const recipient = await createRecipient(t, vault);
  const { id } = await storeDocument(t, api);
  const expiresAt = '2999-12-31T00:00:00.000Z';
  const { body } = await share(api, id, { recipientEmail: recipient.email, expiresAt });
  await unshare(api, id, body.id);
  const [, shared, unshared] = await entriesOf(vault, id);
  const { recipientId } = body;
  t.like(shared, {
    action: 'document.shared',
    actor: { type: 'user', id: userId },
    resource: { type: 'document', id, owner: userId },
    seq: 2,
    data: { shareId: body.id, recipientId, permissions: 'read', expiresAt },
  });
  t.like(unshared, {
    action: 'document.unshared',
    seq: 3,
    data: { shareId: body.id, recipientId },
  });
  const text = JSON.stringify([shared, unshared]);
  t.false(text.includes(recipient.email) || text.includes(recipient.userId));
});

test('above the limit of unsigned entries sharing fails, but shares can end', async (t) => {
  const { vault, signer, stop } = await startVaultWithSigner({ AUDIT_BACKLOG_LIMIT: '20' });
  t.teardown(stop);
  const { api } = await createPerson(vault);
  const { id } = await storeDocument(t, api);
  const shareId = (await share(api, id, { recipientId: randomUUID() })).body.id;
  const open = await openTrail(vault);
  t.teardown(() => open.close());
  await signer.kill();
  await appendEntries(open, 21);
  const isFull = async () =>
    (await share(api, id, { recipientId: randomUUID() })).body.code === 'audit_backlog_full';
  await until(isFull, { what: 'the refusal of shares', timeoutMs: 60_000 });
  t.is((await putKey(api, newSharingKey())).body.code, 'audit_backlog_full');
  t.is((await unshare(api, id, shareId)).status, 204);
});
