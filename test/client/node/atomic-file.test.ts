import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { writeFileAtomically } from '../../../client/node/atomic-file.ts';
import { temporaryDirectory } from '../../support/processes/processes.ts';

async function* pieces(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text);
}

async function* broken() {
  yield Buffer.from('a half');
  throw new Error('the connection broke');
}

test('a file appears complete, and is readable by its owner only', async (t) => {
  const directory = await temporaryDirectory(t);
  const path = join(directory, 'evidence');
  await writeFileAtomically(path, pieces('what ', 'was ', 'agreed'));
  t.is(await readFile(path, 'utf8'), 'what was agreed');
  t.is((await stat(path)).mode & 0o777, 0o600);
  await writeFileAtomically(path, pieces());
  t.is(await readFile(path, 'utf8'), '');
  t.deepEqual(await readdir(directory), ['evidence']);
});

test('an interrupted write leaves nothing behind and keeps the file that was there', async (t) => {
  const directory = await temporaryDirectory(t);
  const path = join(directory, 'evidence');
  const message = 'the connection broke';
  await t.throwsAsync(writeFileAtomically(path, broken()), { message });
  t.deepEqual(await readdir(directory), []);
  await writeFile(path, 'earlier');
  await t.throwsAsync(writeFileAtomically(path, broken()), { message });
  t.is(await readFile(path, 'utf8'), 'earlier');
  t.deepEqual(await readdir(directory), ['evidence']);
});
