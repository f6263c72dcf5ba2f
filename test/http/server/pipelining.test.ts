import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { inTurnOfConnection, maxPipelined } from '../../../app/http/server/pipelining.ts';
import { listenLocally } from '../../support/network/local-server.ts';

/** Starts a server that leaves it to the test to end the responses. */
async function serve(t: ExecutionContext) {
  const served: { readonly path: string; readonly response: ServerResponse }[] = [];
  const server = createServer(
    inTurnOfConnection(({ url = '' }, response) => void served.push({ path: url, response })),
  );
  const port = await listenLocally(t, server);
  return {
    served,
    untilServed: (count: number) =>
      until(() => served.length === count, { what: `${count} requests`, timeoutMs: 60_000 }),
    async open(): Promise<Socket> {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      t.teardown(() => socket.destroy());
      await once(socket, 'connect');
      return socket;
    },
  };
}

const head = (path: string) => `GET ${path} HTTP/1.1\r\nHost: vault.test\r\n\r\n`;
const pause = () => new Promise((resolve) => setTimeout(resolve, 50));

test('requests that are sent ahead are handled one after another, in order', async (t) => {
  const { served, untilServed, open } = await serve(t);
  const socket = await open();
  socket.write(head('/a') + head('/b') + head('/c'));
  await untilServed(1);
  await pause();
  t.is(served.length, 1);
  served[0]?.response.end('first');
  await untilServed(2);
  served[1]?.response.end('second');
  await untilServed(3);
  served[2]?.response.setHeader('Connection', 'close').end('third');
  t.regex(await text(socket), /first[^]*second[^]*third/);
  t.deepEqual(
    served.map(({ path }) => path),
    ['/a', '/b', '/c'],
  );
});

test('connections do not wait for each other', async (t) => {
  const { untilServed, open } = await serve(t);
  for (let n = 0; n < 3; n += 1) (await open()).write(head('/'));
  await untilServed(3);
  t.pass();
});

test('requests that wait when their connection is lost are not handled', async (t) => {
  const { served, untilServed, open } = await serve(t);
  const socket = await open();
  socket.write(head('/a') + head('/b'));
  await untilServed(1);
  const [first] = served;
  const closed = once(first?.response as ServerResponse, 'close');
  socket.destroy();
  await closed;
  await pause();
  t.is(served.length, 1);
});

test('a connection with too many requests ahead is closed, and handles none of them', async (t) => {
  const { served, open } = await serve(t);
  const socket = await open();
  const closed = once(socket, 'close');
  socket.write(head('/').repeat(maxPipelined + 2));
  await closed;
  await pause();
  t.is(served.length, 1);
});

test('as many requests ahead as are allowed are all handled', async (t) => {
  const { served, untilServed, open } = await serve(t);
  const socket = await open();
  socket.resume().write(head('/').repeat(maxPipelined + 1));
  for (let n = 0; n <= maxPipelined; n += 1) {
    await untilServed(n + 1);
    served[n]?.response.end();
  }
  t.is(served.length, maxPipelined + 1);
});
