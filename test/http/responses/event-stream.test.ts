import { createServer } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import Koa from 'koa';
import { until } from '../../../app/dev/processes/until.ts';
import { sendEvents, type Listener } from '../../../app/http/responses/event-stream.ts';
import { openSocket } from '../../support/http/raw-http.ts';
import { listenLocally } from '../../support/network/local-server.ts';

/** Serves endless events of 64 KiB and counts those that were requested. */
async function serveWithoutEnd(t: ExecutionContext, idleMs?: number) {
  const state = { asked: 0, isOver: false, listener: undefined as Listener | undefined };
  async function* events() {
    try {
      for (;;) {
        state.asked += 1;
        yield `data: ${'x'.repeat(64 * 1024)}\n\n`;
      }
    } finally {
      state.isOver = true;
    }
  }
  const failures: unknown[] = [];
  const app = new Koa();
  app.on('error', (error) => failures.push(error));
  app.use(async (ctx) => {
    const open = async (listener: Listener) => {
      state.listener = listener;
      return events();
    };
    await sendEvents(ctx, { open }, idleMs);
  });
  const handle = app.callback();
  const server = createServer((req, res) => void handle(req, res));
  const baseUrl = `http://127.0.0.1:${await listenLocally(t, server)}`;
  const socket = await openSocket(baseUrl);
  t.teardown(() => socket.destroy());
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  return { state, socket, failures };
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;

/** Resolves with the count once it has been the same for half a second. */
async function settled(count: () => number): Promise<number> {
  let last = -1;
  return until(
    () => {
      const isSame = count() === last;
      last = count();
      return isSame && last > 0 ? last : undefined;
    },
    { what: 'the requests to end', timeoutMs: 60_000, intervalMs: 500 },
  );
}

test('a client that reads nothing stops the events, and is disconnected when idle', async (t) => {
  const { state, socket, failures } = await serveWithoutEnd(t, 3_000);
  socket.on('error', () => undefined);
  const asked = await settled(() => state.asked);
  t.true(asked < 500, `${asked} texts of 64 KiB`);
  await until(() => state.isOver, { what: 'the server to disconnect', timeoutMs: 60_000 });
  t.true(state.listener?.gone.aborted);
  t.true(failures.length <= 1);
});

test('a client that starts reading again gets more events', async (t) => {
  const { state, socket } = await serveWithoutEnd(t);
  const asked = await settled(() => state.asked);
  socket.resume();
  await until(() => state.asked > asked + 100, { what: 'more events', timeoutMs: 60_000 });
  t.false(state.isOver);
});

test('a client that leaves ends the events without an error', async (t) => {
  const { state, socket, failures } = await serveWithoutEnd(t);
  socket.resume();
  await until(() => state.asked > 10, { what: 'some events', timeoutMs: 60_000 });
  socket.destroy();
  await until(() => state.isOver, { what: 'the events to end', timeoutMs: 60_000 });
  t.true(state.listener?.gone.aborted);
  // Koa itself reports the errors of the connection.
  t.deepEqual(
    failures.filter((error) => codeOf(error) !== 'ECONNRESET'),
    [],
  );
});

test('a listener can be disconnected while it reads nothing', async (t) => {
  const { state, socket } = await serveWithoutEnd(t);
  socket.on('error', () => undefined);
  await settled(() => state.asked);
  state.listener?.cut();
  await until(() => state.isOver, { what: 'the events to end', timeoutMs: 60_000 });
  t.true(state.listener?.gone.aborted);
});
