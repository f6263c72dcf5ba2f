import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { terminationLogOf, writeTerminationLog } from '../../signer/log/termination-log.ts';
import { temporaryDirectory } from '../support/processes/processes.ts';

test('the reason replaces what the file of Kubernetes held', async (t) => {
  const file = path.join(await temporaryDirectory(t), 'termination-log');
  await writeFile(file, 'a longer reason of the process before');
  writeTerminationLog(file, 'the reason');
  t.is(await readFile(file, 'utf8'), 'the reason');
});

test('a reason over 4 KiB is cut between two characters', async (t) => {
  const file = path.join(await temporaryDirectory(t), 'termination-log');
  for (const offset of ['', 'a', 'ab', 'abc']) {
    await writeFile(file, '');
    writeTerminationLog(file, `${offset}${'🔑'.repeat(2_000)}`);
    const bytes = await readFile(file);
    t.true(bytes.length <= 4_096 && bytes.length > 4_088, String(bytes.length));
    t.regex(bytes.toString(), new RegExp(`^${offset}(?:🔑)+…$`, 'u'));
  }
});

test('outside of Kubernetes no file is made, and nothing is thrown', async (t) => {
  const directory = await temporaryDirectory(t);
  writeTerminationLog(path.join(directory, 'termination-log'), 'the reason');
  writeTerminationLog(directory, 'the reason');
  t.deepEqual(await readdir(directory), []);
});

test('the file is that of Kubernetes unless it is set', (t) => {
  t.is(terminationLogOf({}), '/dev/termination-log');
  t.is(terminationLogOf({ TERMINATION_LOG: '' }), '/dev/termination-log');
  t.is(terminationLogOf({ TERMINATION_LOG: '/run/end' }), '/run/end');
});
