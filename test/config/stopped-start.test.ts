import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { projectFile } from '../../app/dev/files/project.ts';
import { until } from '../../app/dev/processes/until.ts';
import { createTokenFixture } from '../support/audit/token-fixture.ts';
import { compileCache } from '../support/processes/compile-cache.ts';
import { idleApp } from './run-program.ts';

/** Starts a program with these variables, which stands in for process 1 of a container. */
function start(t: ExecutionContext, file: string, env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [projectFile(file)], {
    env: { PATH: process.env['PATH'] ?? '', ...compileCache(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  return { child, closed, output: () => output };
}

/** Listens as a Postgres that accepts connections and never answers. */
async function startSilentServer(t: ExecutionContext) {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    t.teardown(() => socket.destroy());
  });
  t.teardown(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `postgresql://app@127.0.0.1:${port}/vault`, asked: () => connections > 0 };
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} ends an app whose start waits for Postgres`, async (t) => {
    const { url, asked } = await startSilentServer(t);
    const app = start(t, 'app/main.ts', {
      ...idleApp,
      DATABASE_URL: url,
      DATABASE_SERVICE_URL: url,
    });
    await until(asked, { what: 'the first connection to Postgres', timeoutMs: 60_000 });
    app.child.kill(signal);
    t.deepEqual(await app.closed, [0, null], app.output());
    t.regex(app.output(), /"msg":"stopped during the start"/);
    t.notRegex(app.output(), /"msg":"listening"/);
  });
}

test('SIGTERM ends a signer whose start waits for its HSM', async (t) => {
  const token = await createTokenFixture();
  t.teardown(() => token.remove());
  // SoftHSM hangs in C_Initialize while it reads its settings from a FIFO that nobody writes to.
  const settings = path.join(token.directory, 'settings');
  await promisify(execFile)('mkfifo', [settings]);
  const signer = start(t, 'signer/main.ts', { ...token.environment, SOFTHSM2_CONF: settings });
  // Opening the FIFO for writing waits for its reader, the HSM process.
  const writer = await open(settings, 'w');
  t.teardown(() => writer.close());
  signer.child.kill('SIGTERM');
  t.deepEqual(await signer.closed, [0, null], signer.output());
  t.regex(signer.output(), /"msg":"stopped"/);
});
