import { mkdtemp, readdir, readFile, readlink, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { createObjectStore } from '../../../app/storage/create-store.ts';
import { createLayout } from '../../../app/storage/filesystem/layout.ts';
import { partBytes, testBytes } from '../../support/documents/bytes.ts';
import { storeObject, throwsCode } from '../../support/documents/stored.ts';

const directory = await mkdtemp(join(tmpdir(), 'store-reads-'));
const store = await createObjectStore({ driver: 'filesystem', directory });
test.after.always(() => rm(directory, { recursive: true, force: true }));

/** Returns how many descriptors this process has open on files of the object. */
async function countDescriptors(key: string): Promise<number> {
  const path = createLayout(directory).objectDirectory(key);
  const links = (await readdir('/proc/self/fd')).map((fd) =>
    readlink(`/proc/self/fd/${fd}`).catch(() => ''),
  );
  return (await Promise.all(links)).filter((link) => link.startsWith(path)).length;
}

const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux('an abandoned read frees its descriptor, started or not', async (t) => {
  const { key } = await storeObject(store, [testBytes(partBytes, 1), testBytes(partBytes, 2)]);
  const abort = new AbortController();
  const reads = Array.from({ length: 40 }, () => store.get(key, { signal: abort.signal }));
  const bodies = (await Promise.all(reads)).map(({ body }) => body);
  for (const [index, body] of bodies.entries()) {
    body.on('error', () => {});
    if (index % 2 === 0) await body[Symbol.asyncIterator]().next();
  }
  await until(async () => (await countDescriptors(key)) === bodies.length, {
    what: 'every read to have begun',
    timeoutMs: 60_000,
  });
  for (const [index, body] of bodies.entries()) if (index % 4 < 2) body.destroy();
  abort.abort();
  await until(async () => (await countDescriptors(key)) === 0, {
    what: 'the descriptors to be closed',
    timeoutMs: 60_000,
  });
  t.pass();
});

test('an object with a truncated part is not read to an early end', async (t) => {
  const { key } = await storeObject(store, [testBytes(1_000, 1), testBytes(1_000, 2)]);
  const path = createLayout(directory).objectDirectory(key);
  const first = (await readdir(path)).find((name) => name.startsWith('1-'));
  await truncate(join(path, first ?? ''), 900);
  const { body } = await store.get(key);
  await throwsCode(t, body.toArray(), 'version_changed');
});

test('an object whose manifest is damaged is reported as changed', async (t) => {
  const damages: readonly ((manifest: string) => string)[] = [
    () => '',
    (manifest) => manifest.slice(0, -9),
    (manifest) => manifest.replace('"size":1000', '"size":1001'),
    (manifest) => manifest.replace('"parts"', '"pargs"'),
    (manifest) => manifest.replace('"file":"1-', '"file":"9-'),
  ];
  for (const damage of damages) {
    const { key, version } = await storeObject(store, [testBytes(1_000, 1)]);
    const path = join(createLayout(directory).objectDirectory(key), 'manifest.json');
    await writeFile(path, damage(await readFile(path, 'utf8')));
    const read = async () => (await store.get(key, { ifVersion: version })).body.toArray();
    await throwsCode(t, read(), 'version_changed');
  }
});
