import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { connect } from '../support/client/user.ts';
import { temporaryDirectory } from '../support/processes/processes.ts';
import { startBrowserLab } from './lab.ts';
import type { Tab } from './tab.ts';
import { createUser } from './user.ts';

const limitMs = 180_000;
const sampleKeyword = 'Lease';

const lab = await startBrowserLab();
test.after.always(() => lab.stop());

/** Chooses a new file in the page and stores it as a document. */
async function storeFile(t: ExecutionContext, tab: Tab, size: number) {
  const bytes = randomBytes(size);
  const name = `evidence ${size}.bin`;
  const path = join(await temporaryDirectory(t), name);
  await writeFile(path, bytes);
  const input = (await tab.page.$('input')) ?? t.fail();
  await input.uploadFile(path);
  const { id } = await tab.run('storeChosenFile', { keyword: sampleKeyword });
  return { id, file: { name, size, sha256: createHash('sha256').update(bytes).digest('hex') } };
}

test.serial('a page stores a chosen file in parts, proves it, and reads it back', async (t) => {
  t.timeout(limitMs);
  const tab = await lab.openTab();
  await createUser(lab.vault, tab);
  const parts = new Set<string>();
  tab.page.on('request', (request) => {
    if (request.method() === 'PUT') parts.add(request.url());
  });
  const { id, file } = await storeFile(t, tab, 33 * 2 ** 20);
  t.is(parts.size, 3);

  const keys = await connect(lab.vault).auditKeys();
  const trustedKeys = keys.filter(({ purpose }) => purpose === 'audit').map(({ keyId }) => keyId);
  t.like(await tab.run('certify', { id, trustedKeys }), { valid: true, keyTrusted: true });
  t.deepEqual(await tab.run('search', { keyword: sampleKeyword.toUpperCase() }), [id]);
  t.deepEqual(await tab.run('search', { keyword: 'Will' }), []);
  t.deepEqual(await tab.run('download', { id }), file);
  t.deepEqual(lab.takeProblems(), []);
});

test.serial('a second account decrypts in its browser what a page shared', async (t) => {
  t.timeout(limitMs);
  const [owner, recipient] = [await lab.openTab(), await lab.openTab()];
  await createUser(lab.vault, owner);
  const { email } = await createUser(lab.vault, recipient);
  const { id, file } = await storeFile(t, owner, 100_000);
  const { fingerprint } = await recipient.run('enableSharing');
  await owner.run('share', { id, email, fingerprint });
  t.deepEqual(await recipient.run('downloadShared'), [file]);
  t.deepEqual(lab.takeProblems(), []);
});

test.serial('recovery words open everything in a browser that has nothing else', async (t) => {
  t.timeout(limitMs);
  const tab = await lab.openTab();
  const { email, password } = await createUser(lab.vault, tab);
  const { id, file } = await storeFile(t, tab, 100_000);
  const words = await tab.run('setUpRecovery', { password });
  await tab.close();

  const fresh = await lab.openTab();
  const newPassword = `${password}, another`;
  await fresh.run('recover', { email, words, newPassword });
  t.deepEqual(await fresh.run('search', { keyword: sampleKeyword }), [id]);
  t.deepEqual(await fresh.run('download', { id }), file);

  const later = await lab.openTab();
  await t.throwsAsync(later.run('logIn', { email, password }), { code: 'invalid_proof' });
  await later.run('logIn', { email, password: newPassword });
  t.deepEqual(await later.run('download', { id }), file);
  t.deepEqual(lab.takeProblems(), [
    '404 GET /v1/crypto/keys/recovery-envelope',
    '401 POST /v1/auth/login/verify',
  ]);
});
