import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import test from 'ava';
import { runGuarded, spawnGuarded } from '../../app/dev/processes/guarded-process.ts';
import type { ProcessSpec } from '../../app/dev/processes/process-spec.ts';
import { until } from '../../app/dev/processes/until.ts';
import { isAlive, temporaryDirectory } from '../support/processes/processes.ts';

function script(source: string, more: Partial<ProcessSpec> = {}): ProcessSpec {
  return {
    name: 'script',
    command: process.execPath,
    args: ['--input-type=module', '--eval', source],
    cwd: '/',
    env: {},
    stopSignal: 'SIGTERM',
    ...more,
  };
}

test('a process that ignores its stop signal is killed after the grace period', async (t) => {
  const lines: string[] = [];
  const source = `process.on('SIGTERM', () => console.log('ignored'));
    setInterval(() => undefined, 1000); console.log('listening');`;
  const child = await spawnGuarded(script(source), { onLine: (line) => lines.push(line) });
  await until(() => lines.includes('listening'), { what: 'the script', timeoutMs: 60_000 });

  const stopping = child.stop();
  await until(() => lines.includes('ignored'), { what: 'the stop signal', timeoutMs: 60_000 });
  const exit = await child.stop({ graceMs: 200 });

  t.is(exit.signal, 'SIGKILL');
  t.deepEqual(await stopping, exit);
  t.false(isAlive(child.pid));
});

test('a process receives its input on standard input', async (t) => {
  const lines: string[] = [];
  const source = `process.stdin.on('data', (data) => console.log('got ' + data));`;
  const child = await spawnGuarded(script(source, { input: 'secret' }), {
    onLine: (line) => lines.push(line),
  });
  t.deepEqual(await child.exited, { code: 0, signal: null });
  t.deepEqual(lines, ['got secret']);
});

test('a command that does not exist throws', async (t) => {
  const missing = script('', { command: '/does/not/exist' });
  await t.throwsAsync(runGuarded(missing), { message: /^script: .*ENOENT/ });
});

test('a failing command throws with its output', async (t) => {
  const failing = script(`console.error('the reason'); process.exitCode = 3;`);
  await t.throwsAsync(runGuarded(failing), { message: 'script failed (exit code 3)\nthe reason' });
});

test('an abort stops the command and throws its reason', async (t) => {
  const endless = script('setInterval(() => undefined, 1000)');
  const abort = new AbortController();
  const run = runGuarded(endless, abort.signal);
  abort.abort(new Error('given up'));
  await t.throwsAsync(run, { message: 'given up' });
});

test('two processes with the same lock file never run concurrently', async (t) => {
  const lockFile = join(await temporaryDirectory(t), 'lock');
  const endless = script('setInterval(() => undefined, 1000)', { lockFile });
  const first = await spawnGuarded(endless, { onLine: () => undefined });
  const second = spawnGuarded(endless, { onLine: () => undefined });

  await first.stop();
  await using started = await second;

  t.false(isAlive(first.pid));
  t.true(isAlive(started.pid));
});

test('a process is stopped when its watchdog is killed', async (t) => {
  const endless = script('setInterval(() => undefined, 1000)');
  const child = await spawnGuarded(endless, { onLine: () => undefined });
  const watchdog = execFileSync('ps', ['-o', 'ppid=', '-p', String(child.pid)], {
    encoding: 'utf8',
  });

  process.kill(Number(watchdog), 'SIGKILL');

  await child.exited;
  await until(() => !isAlive(child.pid), { what: 'the end of the process', timeoutMs: 60_000 });
  t.pass();
});
