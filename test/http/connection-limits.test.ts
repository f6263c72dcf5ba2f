import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import Koa from 'koa';
import { until } from '../../app/dev/processes/until.ts';
import { listen } from '../../app/http/server/server.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { assertError } from '../support/http/error-body.ts';
import { readAnswer } from '../support/http/raw-http.ts';

interface Limits {
  readonly connections?: number;
  readonly connectionsPerAddress?: number;
  readonly isProxy?: () => boolean;
}

/** Starts a server with these limits; `open` connects to it from a loopback address. */
async function serve(t: ExecutionContext, limits: Limits) {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => void lines.push(line) });
  const app = new Koa();
  let requests = 0;
  app.use((ctx) => {
    requests += 1;
    ctx.body = 'served';
  });
  const server = await listen(
    app,
    {
      host: '127.0.0.1',
      port: 0,
      connections: 100,
      connectionsPerAddress: 100,
      isProxy: () => false,
      ...limits,
    },
    log,
  );
  t.teardown(() => server.drain(0, 0));
  return {
    lines,
    requests: () => requests,
    async open(localAddress: string): Promise<Socket> {
      const socket = connect({ host: '127.0.0.1', port: server.port, localAddress });
      socket.on('error', () => undefined);
      t.teardown(() => socket.destroy());
      await once(socket, 'connect');
      return socket;
    },
  };
}

async function ask(socket: Socket) {
  const answer = readAnswer(socket);
  socket.write('GET / HTTP/1.1\r\nHost: vault.test\r\n\r\n');
  return answer;
}

const isServed = async (socket: Socket) => (await ask(socket)).status === 200;

test('an address has only so many connections, and others do not notice', async (t) => {
  const { open, lines, requests } = await serve(t, { connectionsPerAddress: 2 });
  const [first, second] = [await open('127.0.0.2'), await open('127.0.0.2')];
  t.true((await isServed(first)) && (await isServed(second)));
  const third = await open('127.0.0.2');
  assertError(t, await readAnswer(third, { untilClosed: true }), { status: 503, code: 'busy' });
  t.true(await isServed(await open('127.0.0.3')));
  t.is(requests(), 3);
  t.is(lines.filter((line) => line.includes('HTTP_CONNECTIONS_PER_ADDRESS')).length, 1);
  first.destroy();
  const isFree = async () => isServed(await open('127.0.0.2'));
  await until(() => isFree().catch(() => false), { what: 'a free place', timeoutMs: 60_000 });
});

test('all clients together have only so many connections', async (t) => {
  const { open } = await serve(t, { connections: 2 });
  t.true(await isServed(await open('127.0.0.2')));
  t.true(await isServed(await open('127.0.0.3')));
  const refused = await open('127.0.0.4');
  assertError(t, await readAnswer(refused, { untilClosed: true }), { status: 503, code: 'busy' });
});

test('a trusted proxy may have more connections than an address', async (t) => {
  const { open } = await serve(t, { connectionsPerAddress: 1, isProxy: () => true });
  for (let n = 0; n < 5; n += 1) t.true(await isServed(await open('127.0.0.2')));
});
