import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import { projectFile } from '../../app/dev/files/project.ts';
import { forEachLine } from '../../app/dev/processes/log-lines.ts';
import { until } from '../../app/dev/processes/until.ts';

const program = projectFile('test/telemetry/noisy-process.ts');

/** Starts a process that logs much, runs `begin` with it, and resolves once it has logged. */
async function startNoisy(
  t: ExecutionContext,
  stdout: 'pipe' | number,
  begin: (child: ChildProcess) => void = () => {},
): Promise<ChildProcess> {
  const stdio: StdioOptions = ['ignore', stdout, 'inherit', 'ipc'];
  const child = spawn(process.execPath, [program], { stdio });
  t.teardown(() => child.kill('SIGKILL'));
  begin(child);
  t.deepEqual((await once(child, 'message'))[0], 'logged');
  return child;
}

/** Asks a process to end, and returns its exit code and signal. */
async function end(child: ChildProcess) {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  return ended;
}

test('a process whose standard output nobody reads goes on, and ends when asked', async (t) => {
  const child = await startNoisy(t, 'pipe');
  t.deepEqual(await end(child), [0, null]);
});

test('a process whose standard output is full goes on, and ends when asked', async (t) => {
  const full = await open('/dev/full', 'w');
  t.teardown(() => full.close());
  const child = await startNoisy(t, full.fd);
  t.deepEqual(await end(child), [0, null]);
});

test('a process whose standard output was closed goes on, and ends when asked', async (t) => {
  const child = await startNoisy(t, 'pipe', ({ stdout }) => stdout?.destroy());
  t.deepEqual(await end(child), [0, null]);
});

test('lines are dropped while nobody reads, and the log tells their number once', async (t) => {
  const child = await startNoisy(t, 'pipe');
  const lines: Record<string, unknown>[] = [];
  forEachLine(child.stdout, (line) => lines.push(JSON.parse(line) as Record<string, unknown>));
  const reports = () => lines.filter(({ dropped }) => dropped !== undefined);
  await until(() => reports().length > 0 && lines.at(-1)?.['msg'] === 'still there', {
    what: 'a report of dropped lines',
    timeoutMs: 60_000,
  });
  const [report, ...others] = reports();
  t.deepEqual(others, []);
  const logged = lines.filter(({ line }) => line !== undefined);
  t.true(logged.length < 20_000);
  t.true(logged.length + Number(report?.['dropped']) >= 20_000);
  t.like(report, { level: 'error', service: 'signer' });
  t.deepEqual(Object.keys(lines[0] ?? {}), ['level', 'time', 'service', 'version', 'line', 'msg']);
});
