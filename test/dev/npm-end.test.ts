import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import test from 'ava';
import { projectFile } from '../../app/dev/files/project.ts';

const program = projectFile('test/dev/until-stopped.ts');

/** Starts a program below a shell, as npm does, and resolves once it runs. */
async function startBelowShell(environment: NodeJS.ProcessEnv) {
  // Two commands, so that the shell does not become the program.
  const shell = spawn('sh', ['-c', '"$0" "$1"; true', process.execPath, program], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface(shell.stdout);
  const [line] = (await once(lines, 'line')) as [string];
  return { shell, lines, pid: Number(line) };
}

test('a program that npm runs stops when npm and its shell have ended', async (t) => {
  const { shell, lines } = await startBelowShell({ npm_lifecycle_event: 'start' });
  shell.kill('SIGTERM');
  t.deepEqual(await once(lines, 'line'), ['stopped']);
});

test('a program that a shell runs goes on without it', async (t) => {
  const { shell, lines, pid } = await startBelowShell({ npm_lifecycle_event: undefined });
  t.teardown(() => process.kill(pid));
  const closed = once(lines, 'close');
  shell.kill('SIGTERM');
  const ended = await Promise.race([
    closed.then(() => true),
    new Promise((resolve) => setTimeout(resolve, 1_000, false)),
  ]);
  t.false(ended);
});
