import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import test from 'ava';
import { freePort } from '../../app/dev/processes/free-port.ts';
import { acquireLock } from '../../app/dev/processes/lock.ts';
import { runProgram, untilLine, temporaryDirectory } from '../support/processes/processes.ts';

const startProgram = 'app/dev/start.ts';

test('commands reach a running stack, and Ctrl-C stops its processes in order', async (t) => {
  const directory = await temporaryDirectory(t);
  const port = await freePort();
  const stack = runProgram(t, [startProgram, directory], { PORT: String(port) });
  await untilLine(stack, /is ready/);
  const response = await fetch(`http://127.0.0.1:${port}/health/ready`);
  t.is(response.status, 200);
  const environment = parseEnv(await readFile(join(directory, 'environment'), 'utf8'));
  for (const [command, line] of [
    [['app/cli.ts', 'keys', 'list'], /^[0-9a-f]{32} {2}audit-1 {2}ACTIVE$/],
    [['signer/cli.ts', 'self-test'], /^ok audit-1$/],
  ] as const) {
    const program = runProgram(t, [...command], environment);
    t.is(await program.exitCode, 0);
    t.true(
      program.lines.some((printed) => line.test(printed)),
      program.lines.join('\n'),
    );
  }

  stack.kill('SIGINT');

  t.is(await stack.exitCode, 0);
  const stopped = stack.lines.flatMap((line) => /^(\w+) +stopped$/.exec(line)?.[1] ?? []);
  t.deepEqual(stopped, ['app', 'signer', 'redis', 'postgres']);
});

test('a port in use is reported in one line before anything is started', async (t) => {
  const directory = await temporaryDirectory(t);
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? String(address.port) : '';

  const stack = runProgram(t, [startProgram, directory], { PORT: port });

  t.is(await stack.exitCode, 1);
  t.is(stack.lines.length, 1);
  t.regex(stack.lines[0] ?? '', new RegExp(`^port ${port} on 127.0.0.1 is taken`));
  await t.throwsAsync(stat(join(directory, 'postgres')), { code: 'ENOENT' });
});

test('a second start on the same directory is refused', async (t) => {
  const directory = await temporaryDirectory(t);
  const lock = acquireLock(join(directory, 'lock'));
  t.teardown(() => lock?.release());

  const second = runProgram(t, [startProgram, directory], { PORT: '0' });

  t.is(await second.exitCode, 1);
  t.deepEqual(second.lines, [`a stack is already running on ${directory}: stop it first`]);
});
