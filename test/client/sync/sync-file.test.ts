import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'ava';
import { openSyncFile } from '../../../client/node/sync-file.ts';
import type { SavedChanges, SavedState } from '../../../client/sync/store.ts';
import { objectOf } from './stored-objects.ts';

const temporaryPath = async () => join(await mkdtemp(join(tmpdir(), 'sync-')), 'objects');

async function load(path: string): Promise<SavedState> {
  await using file = await openSyncFile(path);
  return file.load();
}

async function save(path: string, ...all: SavedChanges[]): Promise<void> {
  await using file = await openSyncFile(path);
  await file.load();
  for (const changes of all) await file.save(changes);
}

test('nobody else on the machine may read the file, and nothing is left beside it', async (t) => {
  const path = await temporaryPath();
  await save(path, { objects: [objectOf('one')], forgotten: [] });
  t.is((await stat(path)).mode & 0o777, 0o600);
  t.deepEqual(await readdir(dirname(path)), ['objects']);
});

test('a crash in the middle of a save leaves all of it or nothing, and what comes next counts', async (t) => {
  const path = await temporaryPath();
  const [first, second, third] = [objectOf('first'), objectOf('second'), objectOf('third')];
  await save(path, { objects: [first], forgotten: [] });
  await load(path);
  const before = (await readFile(path)).length;
  await save(path, { objects: [second], forgotten: [], cursor: '2' });
  const whole = await readFile(path);
  const cuts = Array.from({ length: 20 }, (_, n) => before + n * 9);
  for (const length of [...cuts.filter((cut) => cut < whole.length), whole.length]) {
    await writeFile(path, whole.subarray(0, length));
    const isWhole = length === whole.length;
    t.deepEqual((await load(path)).objects, isWhole ? [first, second] : [first]);
    await save(path, { objects: [third], forgotten: [] });
    t.is((await load(path)).objects.length, isWhole ? 3 : 2);
  }
});

test('a damaged file is refused and left alone: there may be changes in it', async (t) => {
  const path = await temporaryPath();
  for (const text of ['{}\n', 'no json\n', '{"objects":[1],"forgotten":[]}\n']) {
    await writeFile(path, text);
    await t.throwsAsync(load(path), { code: 'store_damaged' });
    t.is(await readFile(path, 'utf8'), text);
  }
});

test('two clients never hold one file, and each leaves it for the next', async (t) => {
  const path = await temporaryPath();
  const first = await openSyncFile(path);
  await t.throwsAsync(openSyncFile(path), { code: 'store_in_use' });
  await first[Symbol.asyncDispose]();
  t.deepEqual((await load(path)).objects, []);
});

test('the file is written anew when most of it is old', async (t) => {
  const path = await temporaryPath();
  const objectId = randomUUID();
  const text = 'x'.repeat(100_000);
  const saves = Array.from({ length: 40 }, (_, n) => objectOf(`${n} ${text}`, objectId));
  await save(path, ...saves.map((one) => ({ objects: [one], forgotten: [] })));
  t.true((await stat(path)).size < 20 * text.length);
  t.deepEqual((await load(path)).objects, saves.slice(-1));
});
