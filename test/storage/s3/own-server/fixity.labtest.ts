import { open, readdir, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { certify, storeDocument } from '../../../support/documents/documents.ts';
import { createApi } from '../../../support/documents/uploads.ts';
import { startS3Lab } from '../../../support/processes/s3-lab.ts';
import { entriesOf, startMaintenanceVault } from '../../../support/vault/maintenance-vault.ts';
import { startFaultyProxy, type Fault } from '../servers/faulty-proxy.ts';

/** Faults of a failing network, after each of which a request without a fault follows at times. */
const networkFaults: readonly Fault[] = [
  'cut before',
  'none',
  'cut within',
  'unavailable',
  'late',
  'cut within',
  'none',
];

async function flipBit(file: string): Promise<void> {
  const handle = await open(file, 'r+');
  const { buffer } = await handle.read({ buffer: Buffer.alloc(1), position: 40 });
  buffer[0] = (buffer[0] ?? 0) ^ 1;
  await handle.write(buffer, 0, 1, 40);
  await handle.close();
}

test('forty damaged objects are found under a failing network, and none is invented', async (t) => {
  t.timeout(600_000);
  await using lab = await startS3Lab();
  await using proxy = await startFaultyProxy(lab.config.endpoint);
  const vault = await startMaintenanceVault({ ...lab.settings, STORAGE_ENDPOINT: proxy.url });
  t.teardown(() => vault.stop());
  const api = await createApi(vault.vault);
  const stored = [];
  for (let n = 0; n < 80; n += 1) {
    const document = await storeDocument(t, api);
    t.is((await certify(api, document.id)).status, 200);
    stored.push(document);
  }

  const files = await readdir(lab.directory, { recursive: true });
  const fileOf = (key: string) =>
    join(lab.directory, files.find((name) => name.endsWith(key)) ?? '');
  const damages = [
    { state: 'damaged', damage: (key: string) => flipBit(fileOf(key)) },
    { state: 'damaged', damage: (key: string) => truncate(fileOf(key), 50) },
    { state: 'missing', damage: (key: string) => rm(fileOf(key)) },
    { state: 'damaged', damage: async (key: string) => void wrong.add(key) },
  ];
  const wrong = new Set<string>();
  const expected: Record<string, string> = {};
  for (const [index, { id, fileKey }] of stored.slice(0, 40).entries()) {
    const { state = '', damage } = damages[index % damages.length] ?? {};
    await damage?.(fileKey);
    expected[id] = state;
  }
  let requests = 0;
  proxy.setFaults((path) => {
    requests += 1;
    const fault = networkFaults[requests % networkFaults.length] ?? 'none';
    const isWrong = [...wrong].some((key) => path.endsWith(key));
    return isWrong && (fault === 'none' || fault === 'late') ? 'wrong bytes' : fault;
  });

  // Unreadable files are put off: the cycle is over once every file was read.
  const totals = { checkedFiles: 0, damagedFiles: 0 };
  let unread = 0;
  for (let run = 0; run < 20 && totals.checkedFiles < stored.length; run += 1) {
    const { checkedFiles, damagedFiles, unreadableFiles } = await vault.counts('verify-files');
    totals.checkedFiles += Number(checkedFiles);
    totals.damagedFiles += Number(damagedFiles);
    unread += Number(unreadableFiles);
    await vault.sql('update object_checks set available_at = now()');
  }
  t.deepEqual(totals, { checkedFiles: 80, damagedFiles: 40 });
  t.true(unread > 0, 'the network failed');
  const found = await entriesOf(vault.sql, { action: 'document.fixity_failed' });
  t.is(found.length, 40);
  const states = found.map(({ resourceId, data }) => [resourceId, data['state']]);
  t.deepEqual(Object.fromEntries(states), expected);
});
