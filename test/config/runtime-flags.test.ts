import { readFile } from 'node:fs/promises';
import test from 'ava';
import { missingFlags } from '../../app/runtime-flags.ts';
import { startReplica } from '../support/documents/replica.ts';
import { startVault } from '../support/vault/vault.ts';

test('the app runs with its flags, in the process that was started', async (t) => {
  const vault = await startVault();
  t.teardown(() => vault.stop());
  const replica = await startReplica(vault, {}, ['--max-semi-space-size=8']);
  t.teardown(() => replica.process.stop());
  const line = await readFile(`/proc/${replica.process.pid}/cmdline`, 'utf8');
  const args = line.split('\0').filter((arg) => arg.startsWith('--'));
  t.deepEqual(
    args.filter((arg) => !arg.startsWith('--import') && arg !== '--enable-source-maps'),
    [
      '--max-semi-space-size=8',
      '--external-memory-accounted-in-global-limit',
      '--heap-growing-percent=100',
    ],
  );
});

test('a flag counts as given with any value and spelling', (t) => {
  t.is(missingFlags([]).length, 3);
  t.deepEqual(missingFlags(['--heap_growing_percent=50', '--max-semi-space-size=1']), [
    '--external-memory-accounted-in-global-limit',
  ]);
  t.deepEqual(missingFlags(missingFlags([])), []);
});
