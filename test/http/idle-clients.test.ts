import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { limitIdle } from '../../app/http/requests/idle-clients.ts';
import { listenLocally } from '../support/network/local-server.ts';

const idleMs = 30_000;

/** Sends one byte of a two-byte body to a server with a short keep-alive timeout. */
async function sendHalf(
  t: ExecutionContext,
  serve: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Socket> {
  const server = createServer({ keepAliveTimeout: 100, keepAliveTimeoutBuffer: 100 }, serve);
  const socket = connect(await listenLocally(t, server), '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.resume();
  socket.write('POST / HTTP/1.1\r\nHost: vault.test\r\nContent-Length: 2\r\n\r\n1');
  return socket;
}

const isClosed = (socket: Socket) =>
  until(() => socket.closed, { what: 'the connection to end', timeoutMs: 60_000 });

test('a client answered before its body ended is disconnected when idle', async (t) => {
  const socket = await sendHalf(t, (request, response) => {
    limitIdle(request, idleMs);
    response.end();
    request.resume();
  });
  await once(socket, 'data');
  socket.write('2');
  await isClosed(socket);
  t.pass();
});

test('a client that stops sending is disconnected', async (t) => {
  const socket = await sendHalf(t, (request) => {
    request.on('error', () => undefined);
    limitIdle(request, 50);
    request.resume();
  });
  await isClosed(socket);
  t.pass();
});

test('a client that has sent everything may wait longer for the response', async (t) => {
  const socket = await sendHalf(t, (request, response) => {
    limitIdle(request, 50);
    request.resume().once('end', () => setTimeout(() => response.end('done'), 500));
  });
  socket.write('2');
  const [answer] = (await once(socket, 'data')) as [Buffer];
  t.regex(answer.toString(), /^HTTP\/1\.1 200 /);
});
