import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { temporaryDirectory } from '../support/processes/processes.ts';
import { startBrowserLab } from './lab.ts';
import type { Tab } from './tab.ts';
import { createUser } from './user.ts';

const limitMs = 600_000;
const mebibyte = 2 ** 20;
const size = 128 * mebibyte;

const lab = await startBrowserLab();
test.after.always(() => lab.stop());

/** Resolves with the bytes that the scripts of a page hold: garbage does not count. */
async function bytesHeld({ page }: Tab): Promise<number> {
  const client = await page.createCDPSession();
  await client.send('HeapProfiler.collectGarbage');
  const usage = await client.send('Runtime.getHeapUsage');
  await client.detach();
  return usage.usedSize + usage.embedderHeapUsedSize + usage.backingStorageSize;
}

test('a page that stores a file holds little of it', async (t) => {
  t.timeout(limitMs);
  const tab = await lab.openTab();
  tab.page.setDefaultTimeout(limitMs);
  await createUser(lab.vault, tab);
  const path = join(await temporaryDirectory(t), 'zeros.bin');
  await using file = await open(path, 'w');
  await file.truncate(size);
  const input = (await tab.page.$('input')) ?? t.fail();
  await input.uploadFile(path);

  const before = await bytesHeld(tab);
  await tab.run('storeAlmostAll', { keyword: 'large' });
  // The parts that were read are sent by then.
  await tab.page.waitForNetworkIdle({ idleTime: 2_000 });
  const growth = (await bytesHeld(tab)) - before;
  t.log(`${Math.round(growth / mebibyte)} MiB held of a file of ${size / mebibyte} MiB`);
  t.true(growth < size / 2);

  const { id } = await tab.run('storeRest');
  const sha256 = createHash('sha256');
  for (let at = 0; at < size; at += mebibyte) sha256.update(new Uint8Array(mebibyte));
  const metadata = await tab.run('readMetadata', { id });
  t.is(metadata.size, size);
  t.is(metadata.content.sha256, sha256.digest('hex'));
  t.deepEqual(lab.takeProblems(), []);
});
