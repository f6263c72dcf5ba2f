import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { exchange, openSocket, readAnswer } from '../support/http/raw-http.ts';
import { startAppProcess } from './app-process.ts';

interface Outcome {
  readonly status?: number;
  readonly error?: string;
  /** Whether the server asked the client to close the connection. */
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

test('after SIGTERM every accepted request is answered, and the exit code is 0', async (t) => {
  const app = await startAppProcess();
  t.teardown(() => app[Symbol.asyncDispose]());
  const outcomes: Outcome[] = [];
  // Like a proxy, each client uses one connection until the server asks it to close.
  const use = async (pauseMs: number, answered: () => void) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    let outcome: Outcome;
    do {
      await delay(pauseMs);
      outcome = await ask(`${app.baseUrl}/v1/auth/srp-params`, agent);
      outcomes.push(outcome);
      answered();
    } while (outcome.error === undefined && outcome.isLast !== true);
    agent.destroy();
  };
  const paused = Promise.withResolvers<void>();
  const clients = [
    ...Array.from({ length: 8 }, () => use(0, () => undefined)),
    ...Array.from({ length: 8 }, () => use(1_500, paused.resolve)),
  ];
  await until(() => outcomes.length > 200, { what: '200 responses', timeoutMs: 60_000 });
  await paused.promise;
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

test('a request whose body arrives after SIGTERM is answered with Connection: close', async (t) => {
  const app = await startAppProcess();
  t.teardown(() => app[Symbol.asyncDispose]());
  const socket = await openSocket(app.baseUrl);
  t.teardown(() => socket.destroy());
  const body = '{"token":"jam"}';
  const head =
    'POST /v1/auth/validate-email HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n' +
    `Content-Length: ${body.length}\r\n\r\n`;
  socket.write(head + body.slice(0, 5));
  // A response to a later connection shows that the server has accepted the first request.
  await exchange(app.baseUrl, 'GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');

  app.process.kill('SIGTERM');
  await until(() => app.lines.some((line) => line.includes('"msg":"draining"')), {
    what: 'the drain to be logged',
    timeoutMs: 60_000,
  });
  const answer = readAnswer(socket);
  socket.write(body.slice(5));
  const { status, headers } = await answer;
  t.is(status, 200);
  t.is(headers.get('connection'), 'close');
  t.deepEqual(await app.process.exited, { code: 0, signal: null });
});

test('an idle connection does not keep a process from exiting', async (t) => {
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
