import test from 'ava';
import { searchDocuments, type KeywordSearch } from '../../../client/documents/search-documents.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';
import { gather } from '../../support/client/collect.ts';
import { recordingFetch } from '../../support/client/recording-fetch.ts';
import { storeBytes } from '../../support/client/stored.ts';
import { connect, createUser } from '../../support/client/user.ts';

const vault = sharedVault();
const { fetch: recording, sent } = recordingFetch();
const bodies: string[] = [];
const user = await createUser(
  vault,
  connect(vault, (input, init) => {
    if (typeof init?.body === 'string') bodies.push(init.body);
    return recording(input, init);
  }),
);
const { masterKey, session } = user;

async function search(query: Omit<KeywordSearch, 'masterKey'>): Promise<string[]> {
  const found = searchDocuments(session, { masterKey, ...query });
  return (await gather(found)).map(({ id }) => id);
}

test.serial('documents are found by their keywords in any spelling', async (t) => {
  const store = async (...keywords: string[]) =>
    (await storeBytes(user, 1, { keywords })).document.id;
  const invoice = await store('Rechnung', 'Müller  GmbH');
  const contract = await store('Vertrag', 'Müller GmbH');
  const note = await store('Kurze Notiz');

  t.deepEqual(await search({ all: [' müller\tgmbh '] }), [contract, invoice]);
  t.deepEqual(await search({ all: ['Müller GmbH', 'VERTRAG'] }), [contract]);
  t.deepEqual(await search({ any: ['kurze notiz', 'rechnung'] }), [note, invoice]);
  t.deepEqual(await search({ all: ['Müller GmbH'], any: ['kurze notiz', 'vertrag'] }), [contract]);
  t.deepEqual(await search({ all: ['müller'] }), []);
  await t.throwsAsync(search({}), { name: 'VaultError', code: 'validation_failed' });
  t.true(bodies.length > 0);
  // Shorter words may occur in base64 by chance.
  t.false(bodies.some((body) => /müller|vertrag|kurze notiz/i.test(body)));
});

test.serial('a search reads all of its pages', async (t) => {
  const ids: string[] = [];
  for (const _ of Array(5)) {
    ids.unshift((await storeBytes(user, 1, { keywords: ['many'] })).document.id);
  }
  sent.length = 0;
  t.deepEqual(await search({ all: ['many'], pageSize: 2 }), ids);
  const searches = sent.filter(({ path }) => path === '/v1/documents/search');
  t.is(searches.length, 3);
});

test.serial('documents of other users are not found by the same keywords', async (t) => {
  await storeBytes(user, 1, { keywords: ['secret'] });
  const other = await createUser(vault);
  const found = searchDocuments(other.session, { masterKey: other.masterKey, all: ['secret'] });
  t.deepEqual(await gather(found), []);
  const withTheirKey = searchDocuments(other.session, { masterKey, all: ['secret'] });
  t.deepEqual(await gather(withTheirKey), []);
});
