import { Agent, request } from 'node:http';
import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { exchange, openSocket, readAnswer } from '../support/http/raw-http.ts';
import { startAppProcess } from './app-process.ts';

interface Outcome {
  readonly status?: number;
  readonly error?: string;
  /** The server asked to be left. */
  readonly isLast?: boolean;
}

function ask(url: string, agent: Agent): Promise<Outcome> {
  return new Promise((resolve) => {
    const req = request(url, { agent }, (response) => {
      response.on('error', (error) => resolve({ error: error.message })).resume();
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          isLast: response.headers.connection === 'close',
        }),
      );
    });
    req.on('error', (error: NodeJS.ErrnoException) =>
      resolve({ error: error.code ?? error.message }),
    );
    req.end();
  });
}

test('SIGTERM under load: every request taken is answered, and the process ends well', async (t) => {
  const app = await startAppProcess();
  t.teardown(() => app[Symbol.asyncDispose]());
  const outcomes: Outcome[] = [];
  // Each holds one connection and uses it until it is told to go elsewhere, as a proxy does.
  const clients = Array.from({ length: 8 }, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    let outcome: Outcome;
    do {
      outcome = await ask(`${app.baseUrl}/v1/auth/srp-params`, agent);
      outcomes.push(outcome);
    } while (outcome.error === undefined && outcome.isLast !== true);
    agent.destroy();
  });
  await until(() => outcomes.length > 200, { what: 'some load', timeoutMs: 30_000 });
  app.process.kill('SIGTERM');
  const exit = await app.process.exited;
  await Promise.all(clients);

  t.deepEqual(exit, { code: 0, signal: null });
  t.deepEqual(
    outcomes.filter(({ status }) => status !== 200),
    [],
    `of ${outcomes.length} requests`,
  );
  t.true(app.lines.some((line) => line.includes('"msg":"stopped"')));
});

test('a request whose body is still on its way is answered after SIGTERM, and told to go elsewhere', async (t) => {
  const app = await startAppProcess();
  t.teardown(() => app[Symbol.asyncDispose]());
  const socket = await openSocket(app.baseUrl);
  t.teardown(() => socket.destroy());
  const body = '{"token":"jam"}';
  const head = `POST /v1/auth/validate-email HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  socket.write(head + body.slice(0, 5));
  // Whoever is answered later was connected later: by then the first request has been taken.
  await exchange(app.baseUrl, 'GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');

  app.process.kill('SIGTERM');
  await until(() => app.lines.some((line) => line.includes('"msg":"draining"')), {
    what: 'the drain',
    timeoutMs: 10_000,
  });
  const answer = readAnswer(socket);
  socket.write(body.slice(5));
  const { status, headers } = await answer;
  t.is(status, 200);
  t.is(headers.get('connection'), 'close');
  t.deepEqual(await app.process.exited, { code: 0, signal: null });
});

test('an idle connection does not keep a process from ending', async (t) => {
  const app = await startAppProcess();
  t.teardown(() => app[Symbol.asyncDispose]());
  const socket = await openSocket(app.baseUrl);
  t.teardown(() => socket.destroy());
  const answer = readAnswer(socket);
  socket.write('GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n');
  t.is((await answer).status, 200);
  app.process.kill('SIGTERM');
  t.deepEqual(await app.process.exited, { code: 0, signal: null });
});
