import test from 'ava';
import { addVersion } from '../../client/documents/add-version.ts';
import { changeMetadata } from '../../client/documents/change-metadata.ts';
import { openDocument } from '../../client/documents/open-document.ts';
import { downloadDocument } from '../../client/downloads/download.ts';
import { createVaultClient } from '../../client/vault.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import { collect, gather } from '../support/client/collect.ts';
import { recordingFetch } from '../support/client/recording-fetch.ts';
import { sourceOf, storeBytes, toolsOf } from '../support/client/stored.ts';
import { connect, createUser } from '../support/client/user.ts';

const vault = sharedVault();
const { fetch, sent } = recordingFetch();
const user = await createUser(vault, connect(vault, fetch));
const { masterKey, session } = user;
const tools = toolsOf(session);

/** Passes a value that the types refuse, as an application without types may. */
const wrong = (value: unknown) => value as never;
const isUpload = ({ path }: { path: string }) => path.startsWith('/v1/uploads');
const uploads = () => sent.filter(isUpload).length;

test.serial(
  'a document that could not be read again is refused before a byte is sent',
  async (t) => {
    const before = uploads();
    const options: [string, Parameters<typeof storeBytes>[2]][] = [
      ['no name', { name: wrong(undefined) }],
      ['a name that is not a string', { name: wrong(5) }],
      ['no media type', { mediaType: wrong(null) }],
      ['a blank keyword', { keywords: [' '] }],
      ['a keyword that is not a string', { keywords: wrong([5]) }],
      ['no key at all', { masterKey: new Uint8Array(0) }],
      ['half a key', { masterKey: new Uint8Array(16) }],
    ];
    for (const [what, option] of options) {
      await t.throwsAsync(storeBytes(user, 10, option), { instanceOf: TypeError }, what);
    }
    t.is(uploads(), before);
  },
);

test.serial('an upload with a concurrency of zero is refused instead of hanging', async (t) => {
  await t.throwsAsync(storeBytes(user, 10, { concurrency: 0 }), { instanceOf: RangeError });
});

test.serial('a document keeps its metadata when a change of it is refused', async (t) => {
  const { document } = await storeBytes(user, 10, { name: 'mine' });
  const { id } = document;
  const before = uploads();
  const named = { id, masterKey, name: wrong(5) };
  await t.throwsAsync(changeMetadata(tools, named), { instanceOf: TypeError });
  const version = { ...named, source: sourceOf(new Uint8Array(3)) };
  await t.throwsAsync(addVersion(tools, version), { instanceOf: TypeError });
  t.is(uploads(), before);
  t.is((await openDocument(tools, { id, masterKey })).metadata.name, 'mine');
});

test.serial('an invalid range is the caller’s error, not damage to the file', async (t) => {
  const { document } = await storeBytes(user, 100);
  const ranges = [
    { offset: -1, length: 5 },
    { offset: 0, length: 0 },
    { offset: 0, length: -1 },
    { offset: 1.5, length: 2 },
    { offset: Number.NaN, length: 2 },
    { offset: wrong('3'), length: 2 },
    wrong({ offset: 3 }),
  ];
  for (const range of ranges) {
    const reading = collect(downloadDocument(tools, { id: document.id, masterKey, range }));
    await t.throwsAsync(reading, { instanceOf: RangeError }, JSON.stringify(range));
  }
});

test.serial('a device without a name is not added', async (t) => {
  const device = { deviceId: crypto.randomUUID(), deviceKey: new Uint8Array(32).fill(7) };
  const unnamed = session.devices.add({ ...device, name: wrong(undefined), platform: 'Node' });
  await t.throwsAsync(unnamed, { instanceOf: TypeError });
  t.deepEqual(await gather(session.devices.list()), []);
});

test('a client speaks http to this machine alone', (t) => {
  for (const host of ['127.0.0.1:8080', '127.9.9.9', '[::1]:80', 'localhost', 'a.localhost:1']) {
    t.notThrows(() => createVaultClient({ baseUrl: `http://${host}/path` }), host);
  }
  const others = ['vault.example', '10.0.0.1', '127.0.0.1.example', 'localhost.example', '[::2]'];
  for (const host of [...others, 'notlocalhost', '0.0.0.0', '127.0.0.1@vault.example']) {
    const baseUrl = `http://${host}/`;
    t.throws(() => createVaultClient({ baseUrl }), { instanceOf: TypeError }, host);
    t.notThrows(() => createVaultClient({ baseUrl: baseUrl.replace('http:', 'https:') }), host);
  }
});

test('a client is not created for an invalid base URL', (t) => {
  for (const baseUrl of ['', 'vault.example', '/api', 'ftp://vault.example', wrong(undefined)]) {
    t.throws(() => createVaultClient({ baseUrl }), { instanceOf: TypeError }, baseUrl);
  }
});
