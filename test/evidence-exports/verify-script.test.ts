import test from 'ava';
import { certify, storeDocument, storeVersion } from '../support/documents/documents.ts';
import { bytesOf } from '../support/documents/files.ts';
import { createApi } from '../support/documents/uploads.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import {
  download,
  exportDocument,
  runScript,
  unpack,
  writeFolder,
  type Files,
} from '../support/jobs/evidence-exports.ts';

let vault: TestVault;
/** The fingerprint of the vault's key. */
let fingerprint: string;
/** An export of a document with two versions, one of them sealed, with its files. */
let files: Files;
let documentId: string;
/** An export of another document of the same owner. */
let others: Files;

const scopes = ['documents:read', 'documents:write', 'uploads:write', 'jobs:submit'];

test.before(async (t) => {
  vault = await startReadyVault();
  const api = await createApi(vault, { scopes });
  const { id } = await storeDocument(t, api, bytesOf(5_000));
  await certify(api, id);
  await storeVersion(t, api, id, bytesOf(20));
  const { downloadPath } = await exportDocument(api, { documentId: id, includeFile: true });
  documentId = id;
  files = unpack(await download(vault, api, downloadPath));
  const other = await storeDocument(t, api, bytesOf(7));
  await certify(api, other.id);
  const second = await exportDocument(api, { documentId: other.id, includeFile: true });
  others = unpack(await download(vault, api, second.downloadPath));
  const { keys } = (await (await fetch(`${vault.baseUrl}/v1/audit/keys`)).json()) as {
    keys: { purpose: string; state: string; fingerprint: string }[];
  };
  const key = keys.find(({ purpose, state }) => purpose === 'audit' && state === 'ACTIVE');
  fingerprint = key?.fingerprint ?? '';
});
test.after.always(() => vault.stop());

test('an export is verified, and the script says what it cannot know', async (t) => {
  const folder = await writeFolder(t, files);
  for (const named of [fingerprint, fingerprint.slice(0, 32), fingerprint.toUpperCase()]) {
    const { status, text } = await runScript(folder, 'ab'.repeat(16), named);
    t.is(status, 0, text);
    t.true(text.includes(`document: ${documentId}`), text);
    t.regex(text, /^checked: entries 1 to 3 are of this document, without a gap/m);
    t.regex(text, /^checked: the stored files of the versions 1 2,/m);
    t.regex(text, /^not known: entries after the export/m);
  }
});

test('a changed byte in any file is found, and a file that is removed or added', async (t) => {
  t.true(files.size > 15);
  for (const [name, bytes] of files) {
    // In the scripts, the byte is one of a comment: they must still run.
    const at = name.endsWith('.sh') ? bytes.indexOf('Verif') % bytes.length : bytes.length >> 1;
    const place = Math.max(at, 3);
    const changed = Buffer.from(bytes);
    changed[place] = (changed[place] ?? 0) ^ 1;
    const folder = await writeFolder(t, new Map([...files, [name, changed]]));
    const { status, text } = await runScript(folder, fingerprint);
    t.is(status, 1, `${name}: ${text}`);
    t.regex(text, /^INVALID: /m, name);
  }
  for (const name of files.keys()) {
    if (name.endsWith('.sh')) continue;
    const left = new Map(files);
    left.delete(name);
    const { status, text } = await runScript(await writeFolder(t, left), fingerprint);
    t.is(status, 1, `without ${name}: ${text}`);
  }
  for (const name of ['entries/00000004/entry.json', 'notes.txt', 'exported/more.txt']) {
    const more = new Map([...files, [name, Buffer.from('{}')]]);
    const { status, text } = await runScript(await writeFolder(t, more), fingerprint);
    t.is(status, 1, `with ${name}: ${text}`);
    t.true(text.includes(name), text);
  }
});

test('what was swapped, or is of another document, is found', async (t) => {
  const isInvalid = async (changed: Files, label: string) => {
    const { status, text } = await runScript(await writeFolder(t, changed), fingerprint);
    t.is(status, 1, `${label}: ${text}`);
    t.regex(text, /^INVALID: /m, label);
  };
  const from = (folder: string, source: Files, to = folder): Files =>
    new Map(
      ['entry.json', 'signature.der', 'proof.json'].map((name) => [
        `${to}/${name}`,
        source.get(`${folder}/${name}`) ?? Buffer.alloc(0),
      ]),
    );
  const first = 'entries/00000001';
  const second = 'entries/00000002';
  const swapped = new Map([...files, ...from(first, files, second), ...from(second, files, first)]);
  await isInvalid(swapped, 'two entries');
  await isInvalid(new Map([...files, ...from(second, others)]), 'an entry of another document');
  await isInvalid(new Map([...files, ...from('exported', others)]), 'another export');
  const otherManifest = others.get('manifest.txt') ?? Buffer.alloc(0);
  await isInvalid(new Map([...files, ['manifest.txt', otherManifest]]), 'another manifest');
  const mixed = new Map([...files, ...from('exported', others), ['manifest.txt', otherManifest]]);
  await isInvalid(mixed, 'another export with its manifest');
});

test('a key that nobody named is refused, and so is what is no fingerprint', async (t) => {
  const folder = await writeFolder(t, files);
  const unnamed = await runScript(folder, 'ab'.repeat(32));
  t.is(unnamed.status, 1);
  t.true(unnamed.text.includes(fingerprint), unnamed.text);
  for (const wrong of [[], ['xyz'], ['ab'], [fingerprint, ''], ['-']]) {
    t.is((await runScript(folder, ...wrong)).status, 2, wrong.join(' '));
  }
});
