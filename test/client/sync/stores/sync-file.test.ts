import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { openSyncFile } from '../../../../client/node/sync-file.ts';
import type { SavedChanges, SavedState } from '../../../../client/sync/stores/store.ts';
import { mayMount, mountTmpfs } from '../../../support/documents/tmpfs.ts';
import { objectOf } from './stored-objects.ts';

const run = promisify(execFile);
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

test('a crash during a save leaves all of it or nothing, and the next save works', async (t) => {
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

test('a damaged file is refused and left alone, since it may hold changes', async (t) => {
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

test('the file is rewritten when most of it is outdated', async (t) => {
  const path = await temporaryPath();
  const objectId = randomUUID();
  const text = 'x'.repeat(100_000);
  const saves = Array.from({ length: 40 }, (_, n) => objectOf(`${n} ${text}`, objectId));
  await save(path, ...saves.map((one) => ({ objects: [one], forgotten: [] })));
  t.true((await stat(path)).size < 20 * text.length);
  t.deepEqual((await load(path)).objects, saves.slice(-1));
});

test('a closed client completes its save in progress and writes nothing more', async (t) => {
  const path = await temporaryPath();
  const first = await openSyncFile(path);
  await first.load();
  const begun = first.save({ objects: [objectOf('begun')], forgotten: [] });
  await first[Symbol.asyncDispose]();
  await begun;
  await using second = await openSyncFile(path);
  const before = await second.load();
  t.is(before.objects.length, 1);
  const late = first.save({ objects: [objectOf('late')], forgotten: [] });
  await t.throwsAsync(late, { code: 'store_closed' });
  await t.throwsAsync(first.load(), { code: 'store_closed' });
  t.deepEqual(await second.load(), before);
});

(mayMount ? test : test.skip)(
  'a full disk refuses a save, keeps the earlier ones, and accepts the next that fits',
  async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'sync-'));
    await mountTmpfs(directory, '256k');
    t.teardown(() => run('umount', ['-l', directory]));
    await using file = await openSyncFile(join(directory, 'objects'));
    await file.load();
    const [kept, small] = [objectOf('kept'), objectOf('small')];
    await file.save({ objects: [kept], forgotten: [] });
    const large = file.save({ objects: [objectOf('x'.repeat(300_000))], forgotten: [] });
    await t.throwsAsync(large, { code: 'store_full' });
    await file.save({ objects: [small], forgotten: [] });
    await file[Symbol.asyncDispose]();
    t.deepEqual((await load(join(directory, 'objects'))).objects, [kept, small]);
  },
);
