import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import test from 'ava';
import { addVersion } from '../../../client/documents/add-version.ts';
import { openDocument } from '../../../client/documents/open-document.ts';
import type { DocumentVersion } from '../../../client/documents/versions.ts';
import { downloadDocument } from '../../../client/downloads/download.ts';
import { openResumeFile } from '../../../client/node/resume-file.ts';
import { verifyProof } from '../../../client/proofs/verify-proof.ts';
import { replayRecords } from '../../../client/uploads/resume.ts';
import { temporaryDirectory } from '../../support/processes/processes.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';
import { collect, gather } from '../../support/client/collect.ts';
import { pathOf, recordingFetch, storedParts } from '../../support/client/recording-fetch.ts';
import { sourceOf, storeBytes, toolsOf } from '../../support/client/stored.ts';
import { connect, createUser } from '../../support/client/user.ts';

const vault = sharedVault();
const { fetch: recording, sent } = recordingFetch();
let loseAdditions = false;
const user = await createUser(
  vault,
  connect(vault, async (input, init) => {
    const response = await recording(input, init);
    const isAddition = init?.method === 'POST' && pathOf(input).endsWith('/versions');
    if (!loseAdditions || !isAddition || response.status !== 201) return response;
    throw new TypeError('the connection broke');
  }),
);
const { masterKey, session } = user;
const tools = toolsOf(session);

/** A size of three parts. */
const longBytes = 36 * 2 ** 20;

async function listVersions(id: string): Promise<DocumentVersion[]> {
  return gather(session.documents.versions(id, { pageSize: 1 }));
}

test.serial('every version of a document decrypts, the older ones too', async (t) => {
  const { document, bytes } = await storeBytes(user, 100, { name: 'contract.pdf' });
  const { id } = document;
  const contents = [bytes, randomBytes(200), randomBytes(0)];
  for (const content of contents.slice(1)) {
    await addVersion(tools, { id, masterKey, source: sourceOf(content) });
  }
  const versions = await listVersions(id);
  t.deepEqual(
    versions.map(({ version }) => version),
    [3, 2, 1],
  );
  for (const [index, content] of contents.entries()) {
    const file = { id, masterKey, version: index + 1 };
    t.deepEqual(await collect(downloadDocument(tools, file)), new Uint8Array(content));
  }
  t.deepEqual(await collect(downloadDocument(tools, { id, masterKey })), new Uint8Array(0));
  const { metadata } = await openDocument(tools, { id, masterKey });
  const [{ fileHash } = t.fail()] = versions;
  const mediaType = 'application/octet-stream';
  const { content, ...described } = metadata;
  t.deepEqual(described, { name: 'contract.pdf', mediaType, size: 0, fileHash, keywords: [] });
  t.is(content.sha256, createHash('sha256').digest('hex'));

  const missing = collect(downloadDocument(tools, { id, masterKey, version: 4 }));
  await t.throwsAsync(missing, { name: 'ClientError', code: 'version_not_found' });
});

test.serial('a version may have another name and type', async (t) => {
  const { document } = await storeBytes(user, 10);
  const { id } = document;
  const named = { name: 'scan.tiff', mediaType: 'image/tiff' };
  await addVersion(tools, { id, masterKey, source: sourceOf(randomBytes(20)), ...named });
  t.like((await openDocument(tools, { id, masterKey })).metadata, { ...named, size: 20 });
});

test.serial('every sealed version has a proof of its own', async (t) => {
  const { document } = await storeBytes(user, 10);
  const { id } = document;
  await session.certifyDocument(id);
  await addVersion(tools, { id, masterKey, source: sourceOf(randomBytes(20)) });
  t.is((await session.documents.proofs(id)).length, 1);
  await session.certifyDocument(id);

  const proofs = await session.documents.proofs(id);
  const trustedKeys = proofs.map(({ hsmKeyId }) => hsmKeyId);
  t.true(proofs.every((proof) => verifyProof(proof, { trustedKeys }).valid));
  const proven = proofs.map(({ entryCanonical }) => JSON.parse(entryCanonical).data.fileHash);
  t.deepEqual(proven, (await listVersions(id)).map(({ fileHash }) => fileHash).toReversed());
});

test.serial('a version whose response was lost is found again, not created twice', async (t) => {
  const { document } = await storeBytes(user, 10);
  const { id } = document;
  loseAdditions = true;
  t.teardown(() => {
    loseAdditions = false;
  });
  const added = await addVersion(tools, { id, masterKey, source: sourceOf(randomBytes(20)) });
  t.is(added.version, 2);
  t.is((await listVersions(id)).length, 2);
});

test.serial('an interrupted upload of a version resumes for its own document only', async (t) => {
  const { document } = await storeBytes(user, 10);
  const { id } = document;
  const path = join(await temporaryDirectory(t), 'evidence.resume');
  await using journal = await openResumeFile(path);
  const bytes = randomBytes(longBytes);
  const storing = { masterKey, source: sourceOf(bytes), resume: journal };
  const interrupt = async () => {
    const leaving = new AbortController();
    const onProgress = () => leaving.abort(new Error('the user left'));
    const { signal } = leaving;
    await t.throwsAsync(addVersion(tools, { ...storing, id, concurrency: 2, signal, onProgress }));
    return replayRecords(await journal.load())?.sessionId ?? t.fail();
  };

  const sessionId = await interrupt();
  t.like(await addVersion(tools, { ...storing, id }), { version: 2 });
  t.deepEqual(storedParts(sent.filter((request) => request.path.includes(sessionId))), [1, 2, 3]);
  t.deepEqual(await journal.load(), []);
  t.true(Buffer.from(await collect(downloadDocument(tools, { id, masterKey }))).equals(bytes));

  const second = await interrupt();
  const other = await session.storeDocument({ ...storing, name: 'x', mediaType: 'text/plain' });
  t.is((await session.uploads.status(second)).status, 'ABORTED');
  const [own, others] = [
    await openDocument(tools, { id, masterKey }),
    await openDocument(tools, { id: other.id, masterKey }),
  ];
  t.notDeepEqual(own.documentKey, others.documentKey);
});
