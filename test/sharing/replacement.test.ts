import { randomUUID } from 'node:crypto';
import test from 'ava';
import {
  createPerson,
  createRecipient,
  entriesOf,
  share,
  strangersAddress,
} from '../support/documents/people.ts';
import { storeDocument } from '../support/documents/documents.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';

const vault = sharedVault();

test('a share that replaces another one ends it, or changes nothing', async (t) => {
  const { api } = await createPerson(vault);
  const [{ id }, other] = [await storeDocument(t, api), await storeDocument(t, api)];
  const { email } = await createRecipient(t, vault);
  const first = (await share(api, id, { recipientEmail: email })).body;
  const elsewhere = (await share(api, other.id, { recipientEmail: email })).body;
  const second = await share(api, id, { recipientEmail: email, replaces: first.id });
  t.is(second.status, 201);
  t.not(second.body.id, first.id);
  t.deepEqual((await api.send('GET', `/v1/documents/${id}/shares`)).body, [second.body]);
  const entries = (await entriesOf(vault, id)).slice(-2);
  t.like(entries, [{ action: 'document.unshared' }, { action: 'document.shared' }]);
  for (const replaces of [first.id, elsewhere.id, randomUUID()]) {
    const refused = await share(api, id, { recipientEmail: strangersAddress(), replaces });
    t.deepEqual([refused.status, refused.body.code], [404, 'not_found']);
  }
  const { recipientId } = elsewhere;
  const taken = await share(api, id, { recipientId, replaces: second.body.id });
  t.is(taken.status, 201);
  const stranger = (await share(api, id, { recipientEmail: strangersAddress() })).body;
  const conflict = await share(api, id, { recipientId, replaces: stranger.id });
  t.is(conflict.body.code, 'share_exists');
  t.deepEqual((await api.send('GET', `/v1/documents/${id}/shares`)).body, [stranger, taken.body]);
});
