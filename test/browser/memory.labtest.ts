import { createHash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { temporaryDirectory } from '../support/processes/processes.ts';
import { startBrowserLab } from './lab.ts';
import type { Tab } from './tab.ts';
import { createUser } from './user.ts';

const limitMs = 600_000;
const mebibyte = 2 ** 20;
const small = 128 * mebibyte;
const large = 1024 * mebibyte;
/**
 * Half of what memory that holds the file would grow by. The collector of the browser may be late
 * by some hundred MiB.
 */
const toleranceBytes = (large - small) / 2;

const lab = await startBrowserLab();
test.after.always(() => lab.stop());

/** Resolves with the greatest memory that any renderer of the browser has had so far. */
async function peakMemoryBytes(): Promise<number> {
  const client = await lab.browser.target().createCDPSession();
  const { processInfo } = await client.send('SystemInfo.getProcessInfo');
  const peaks = [];
  for (const { type, id } of processInfo) {
    if (type !== 'renderer') continue;
    const status = await readFile(`/proc/${id}/status`, 'utf8').catch(() => '');
    peaks.push(Number(/^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024);
  }
  await client.detach();
  return Math.max(...peaks);
}

/** Stores a file of zeros, and resolves with its id and the peak of memory afterwards. */
async function storeZeros(t: ExecutionContext, tab: Tab, size: number) {
  const path = join(await temporaryDirectory(t), `${size}.bin`);
  await using file = await open(path, 'w');
  await file.truncate(size);
  const input = (await tab.page.$('input')) ?? t.fail();
  await input.uploadFile(path);
  const { id } = await tab.run('storeChosenFile', { keyword: 'large' });
  return { id, peak: await peakMemoryBytes() };
}

test('the memory of a page that stores a file does not grow with it', async (t) => {
  t.timeout(limitMs);
  const tab = await lab.openTab();
  tab.page.setDefaultTimeout(limitMs);
  await createUser(lab.vault, tab);
  const before = await storeZeros(t, tab, small);
  const after = await storeZeros(t, tab, large);
  const inMebibytes = (bytes: number) => Math.round(bytes / mebibyte);
  t.log(`peaks of ${inMebibytes(before.peak)} and ${inMebibytes(after.peak)} MiB`);
  t.true(after.peak - before.peak < toleranceBytes);

  const sha256 = createHash('sha256');
  for (let at = 0; at < large; at += mebibyte) sha256.update(new Uint8Array(mebibyte));
  const { size, content } = await tab.run('readMetadata', { id: after.id });
  t.is(size, large);
  t.is(content.sha256, sha256.digest('hex'));
  t.deepEqual(lab.takeProblems(), []);
});
