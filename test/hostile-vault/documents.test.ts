import anyTest, { type TestFn } from 'ava';
import { decodeBase64, encodeBase64 } from '../../client/bytes/base64.ts';
import { addVersion } from '../../client/documents/add-version.ts';
import { changeMetadata } from '../../client/documents/change-metadata.ts';
import { openDocument, openVersion } from '../../client/documents/open-document.ts';
import { searchDocuments } from '../../client/documents/search-documents.ts';
import { downloadDocument, downloadFile } from '../../client/downloads/download.ts';
import { collect, gather } from '../support/client/collect.ts';
import { sourceOf, storeBytes } from '../support/client/stored.ts';
import { assertCaught, createVictim, type Victim } from './liar.ts';

const test = anyTest as TestFn<{ readonly victim: Victim }>;

test.before(async (t) => {
  t.context = { victim: await createVictim() };
});
test.afterEach.always((t) => t.context.victim.tellTruth());

/** The bytes of the header that name document, version and changes. */
const placeBytes = 61;

/** Returns metadata with the header of other metadata, as far as it names a place. */
function renamed(metadata: string, like: string): string {
  const bytes = decodeBase64(metadata);
  bytes.set(decodeBase64(like).subarray(0, placeBytes));
  return encodeBase64(bytes);
}

async function storeTwo(victim: Victim) {
  const { document: one } = await storeBytes(victim, 100, { name: 'one', keywords: ['red'] });
  const { document: other } = await storeBytes(victim, 100, { name: 'other' });
  return [one, other] as const;
}

test.serial('document B in place of A, under its own id', async (t) => {
  const { victim } = t.context;
  const [one, other] = await storeTwo(victim);
  victim.lie(/^GET .*\/documents\/[^/]+$/, () => other);
  const opening = openDocument(victim.tools, { id: one.id, masterKey: victim.masterKey });
  await assertCaught(t, opening, 'document_mismatch');
});

test.serial('document B in place of A, under the id of A', async (t) => {
  const { victim } = t.context;
  const [one, other] = await storeTwo(victim);
  victim.lie(/^GET .*\/documents\/[^/]+$/, () => ({ ...other, id: one.id }));
  const opening = openDocument(victim.tools, { id: one.id, masterKey: victim.masterKey });
  await assertCaught(t, opening, 'document_mismatch');
});

test.serial('document B in place of A, with metadata that names A', async (t) => {
  const { victim } = t.context;
  const [one, other] = await storeTwo(victim);
  const encryptedMetadata = renamed(other.encryptedMetadata, one.encryptedMetadata);
  victim.lie(/^GET .*\/documents\/[^/]+$/, () => ({ ...other, id: one.id, encryptedMetadata }));
  const opening = openDocument(victim.tools, { id: one.id, masterKey: victim.masterKey });
  await assertCaught(t, opening, 'invalid_metadata');
});

test.serial('the file of B under the metadata of A', async (t) => {
  const { victim } = t.context;
  const { masterKey, tools } = victim;
  const [one, other] = await storeTwo(victim);
  victim.lie(/^GET .*\/documents\/[^/]+$/, (body) =>
    Object.assign(body, { fileHash: other.fileHash }),
  );
  await assertCaught(t, openDocument(tools, { id: one.id, masterKey }), 'metadata_mismatch');
});

test.serial('the bytes of B in a download of A', async (t) => {
  const { victim } = t.context;
  const { masterKey, session, tools } = victim;
  const [one, other] = await storeTwo(victim);
  const http = {
    ...session.http,
    open: (request: Parameters<typeof session.http.open>[0]) =>
      session.http.open({
        ...request,
        path: request.path.replace(one.id, other.id),
        headers: {},
      }),
  };
  const swapped = { ...tools, http };
  const whole = collect(downloadDocument(swapped, { id: one.id, masterKey }));
  await assertCaught(t, whole, 'file_hash_mismatch');
  const range = { offset: 0, length: 10 };
  const piece = collect(downloadDocument(swapped, { id: one.id, masterKey, range }));
  await assertCaught(t, piece, 'wrong_key');
});

test.serial('a piece of version 1 in a download of version 2', async (t) => {
  const { victim } = t.context;
  const { masterKey, session, tools } = victim;
  const [{ id }] = await storeTwo(victim);
  await addVersion(tools, { id, masterKey, source: sourceOf(new Uint8Array(100)) });
  const http = {
    ...session.http,
    open: (request: Parameters<typeof session.http.open>[0]) =>
      session.http.open({ ...request, query: { version: 1 }, headers: {} }),
  };
  const file = await openDocument(tools, { id, masterKey });
  const range = { offset: 0, length: 10 };
  const reading = collect(downloadFile({ ...tools, http }, file, { range }));
  await assertCaught(t, reading, 'wrong_key');
});

async function storeVersions({ masterKey, tools }: Victim, id: string): Promise<void> {
  for (const size of [10, 20]) {
    await addVersion(tools, { id, masterKey, source: sourceOf(new Uint8Array(size)) });
  }
}

interface Listed {
  readonly version: number;
  readonly encryptedMetadata: string;
  readonly fileHash: string;
}

test.serial('version 2 in place of version 1', async (t) => {
  const { victim } = t.context;
  const { masterKey, tools } = victim;
  const [{ id }] = await storeTwo(victim);
  await storeVersions(victim, id);
  victim.lie(/^GET .*\/versions$/, (body) => {
    const [third, second] = body as unknown as Listed[];
    return [third, second, { ...second, version: 1 }];
  });
  await assertCaught(t, openVersion(tools, { id, masterKey, version: 1 }), 'version_mismatch');
});

test.serial('version 2 in place of version 1, with metadata that names version 1', async (t) => {
  const { victim } = t.context;
  const { masterKey, tools } = victim;
  const [{ id }] = await storeTwo(victim);
  await storeVersions(victim, id);
  victim.lie(/^GET .*\/versions$/, (body) => {
    const [third, second, first] = body as unknown as Listed[];
    const { encryptedMetadata: like = '' } = first ?? {};
    const encryptedMetadata = renamed(second?.encryptedMetadata ?? '', like);
    return [third, second, { ...second, version: 1, encryptedMetadata }];
  });
  await assertCaught(t, openVersion(tools, { id, masterKey, version: 1 }), 'invalid_metadata');
});

test.serial('an earlier state of version 1 in place of its last', async (t) => {
  const { victim } = t.context;
  const { masterKey, tools } = victim;
  const [{ id, encryptedMetadata }] = await storeTwo(victim);
  await changeMetadata(tools, { id, masterKey, name: 'the true name' });
  await storeVersions(victim, id);
  victim.lie(/^GET .*\/versions$/, (body) =>
    (body as unknown as Listed[]).map((listed) =>
      listed.version === 1 ? Object.assign(listed, { encryptedMetadata }) : listed,
    ),
  );
  await assertCaught(t, openVersion(tools, { id, masterKey, version: 1 }), 'history_mismatch');
});

test.serial('a version left out of the list', async (t) => {
  const { victim } = t.context;
  const { masterKey, tools } = victim;
  const [{ id }] = await storeTwo(victim);
  await storeVersions(victim, id);
  victim.lie(/^GET .*\/versions$/, (body) =>
    (body as unknown as Listed[]).filter(({ version }) => version !== 2),
  );
  await assertCaught(t, openVersion(tools, { id, masterKey, version: 1 }), 'version_mismatch');
  await assertCaught(t, openVersion(tools, { id, masterKey, version: 2 }), 'version_mismatch');
});

test.serial('the file of another version under the number of a version', async (t) => {
  const { victim } = t.context;
  const { masterKey, tools } = victim;
  const [{ id }] = await storeTwo(victim);
  await storeVersions(victim, id);
  victim.lie(/^GET .*\/versions$/, (body) => {
    const [third, second, first] = body as unknown as Listed[];
    return [third, { ...second, fileHash: first?.fileHash }, first];
  });
  await assertCaught(t, openVersion(tools, { id, masterKey, version: 2 }), 'metadata_mismatch');
});

test.serial('a search hit without the keyword', async (t) => {
  const { victim } = t.context;
  const { masterKey, tools } = victim;
  const [one, other] = await storeTwo(victim);
  t.true((await gather(searchDocuments(tools, { masterKey, all: ['red'] }))).length > 0);
  const { id, encryptedMetadata, status, createdAt } = other;
  victim.lie(/^POST .*\/search$/, () => [{ id, encryptedMetadata, status, createdAt }]);
  const byAll = gather(searchDocuments(tools, { masterKey, all: ['red'] }));
  await assertCaught(t, byAll, 'keyword_mismatch');
  const byAny = gather(searchDocuments(tools, { masterKey, any: ['red', 'blue'] }));
  await assertCaught(t, byAny, 'keyword_mismatch');
  victim.lie(/^POST .*\/search$/, () => [{ ...one, id }]);
  const exchanged = gather(searchDocuments(tools, { masterKey, all: ['red'] }));
  await assertCaught(t, exchanged, 'document_mismatch');
});

test.serial('another document than the one that the client created', async (t) => {
  const { victim } = t.context;
  const [, other] = await storeTwo(victim);
  victim.lie(/^POST .*\/documents$/, () => other);
  await assertCaught(t, storeBytes(victim, 10), 'document_mismatch');
});

test.serial('another file than the one that the client stored', async (t) => {
  const { victim } = t.context;
  victim.lie(/^POST .*\/documents$/, (body) => Object.assign(body, { fileHash: 'ab'.repeat(32) }));
  await assertCaught(t, storeBytes(victim, 10), 'file_hash_mismatch');
});
