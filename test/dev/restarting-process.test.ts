import test from 'ava';
import { spawnGuarded } from '../../app/dev/processes/guarded-process.ts';
import { inheritedEnvironment } from '../../app/dev/processes/node-process.ts';
import { keepRunning } from '../../app/dev/processes/restarting-process.ts';

/** Starts a process that runs a script of Node. */
const run = (script: string) =>
  spawnGuarded(
    {
      name: 'script',
      command: process.execPath,
      args: ['--eval', script],
      cwd: '/',
      env: inheritedEnvironment(),
      stopSignal: 'SIGTERM',
    },
    { onLine: () => undefined },
  );

test('a process that keeps ending is restarted with longer pauses, then given up', async (t) => {
  const events: string[] = [];
  let starts = 0;
  const kept = await keepRunning({
    async start() {
      starts += 1;
      if (starts === 3) throw new Error('no such file\nthe end of the log');
      return run('process.exitCode = 3');
    },
    onEvent: (event) => events.push(event),
    mostRestarts: 3,
  });
  t.teardown(() => kept.stop());
  const last = 'gave up after 3 restarts in a row: ended by itself (exit code 3)';
  t.is(await kept.gaveUp, last);
  t.deepEqual(events, [
    'ended by itself (exit code 3); restarting in 250 ms',
    'is running again',
    'ended by itself (exit code 3); restarting in 500 ms',
    'no such file; restarting in 1000 ms',
    'is running again',
    last,
  ]);
  t.is(starts, 4);
});

test('a process that is stopped is not restarted', async (t) => {
  const events: string[] = [];
  const kept = await keepRunning({
    start: () => run('setInterval(() => undefined, 1_000)'),
    onEvent: (event) => events.push(event),
    mostRestarts: 3,
  });
  await kept.stop();
  t.deepEqual(events, []);
});
