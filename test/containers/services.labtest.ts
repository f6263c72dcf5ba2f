import { spawn } from 'node:child_process';
import { once } from 'node:events';
import test from 'ava';
import { projectFile } from '../../app/dev/files/project.ts';
import { until } from '../../app/dev/processes/until.ts';
import { docker } from '../support/compose/compose-vault.ts';
import { runLabel } from '../support/containers/reaper.ts';
import { runProgram } from '../support/processes/processes.ts';

const limitMs = 300_000;

/** The settings of a run of tests whose services are containers of the lab's images. */
const settings = {
  TEST_SERVICES: 'containers',
  POSTGRES_IMAGE: 'probatio-lab/backends:lab',
  VALKEY_IMAGE: 'probatio-lab/backends:lab',
};

/** Resolves with the states of the containers of all runs of tests. */
async function listContainers(): Promise<readonly string[]> {
  const label = `--filter=label=${runLabel}`;
  const states = await docker('ps', '--all', label, '--format={{.State}}');
  return states.split('\n').filter((state) => state !== '');
}

const bothRun = async () => {
  const states = await listContainers();
  return states.length === 2 && states.every((state) => state === 'running');
};

test.serial('tests pass on Postgres and Valkey in containers, which they remove', async (t) => {
  t.timeout(limitMs);
  const files = ['test/limits/rate-limits.test.ts', 'test/db/transactions.test.ts'];
  const program = runProgram(t, ['test/run.ts', '--tap', ...files], settings);
  await until(bothRun, { what: 'two containers', timeoutMs: 60_000, intervalMs: 200 });
  t.is(await program.exitCode, 0, program.lines.join('\n'));
  t.true(program.lines.filter((line) => line.startsWith('ok ')).length > 10);
  t.deepEqual(await listContainers(), []);
});

test.serial('a run that is killed leaves no container 10 seconds later', async (t) => {
  t.timeout(limitMs);
  const child = spawn(process.execPath, [projectFile('test/run.ts'), 'test/srp/**'], {
    env: { ...process.env, ...settings },
    stdio: 'ignore',
    detached: true,
  });
  t.teardown(() => endGroup(child.pid));
  const exited = once(child, 'exit');
  await until(bothRun, { what: 'two containers', timeoutMs: 60_000, intervalMs: 200 });
  child.kill('SIGKILL');
  await exited;
  const areGone = async () => (await listContainers()).length === 0;
  const end = { what: 'the containers to be gone', timeoutMs: 10_000, intervalMs: 200 };
  await t.notThrowsAsync(until(areGone, end));
});

/** Ends what a killed run has left of its process group. */
function endGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, 'SIGTERM');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
