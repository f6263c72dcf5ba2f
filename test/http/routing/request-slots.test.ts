import { once } from 'node:events';
import { createServer, get, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import { until } from '../../../app/dev/processes/until.ts';
import { AppError } from '../../../app/errors/app-error.ts';
import { EventStream } from '../../../app/http/responses/event-stream.ts';
import { JsonText } from '../../../app/http/responses/json-text.ts';
import { StreamedAnswer } from '../../../app/http/responses/streamed-answer.ts';
import { createRequestSlots } from '../../../app/http/routing/request-slots.ts';
import { listenLocally } from '../../support/network/local-server.ts';

const kinds = {
  json: { response: z.string() },
  download: { response: StreamedAnswer },
  part: { response: z.string(), streamsBody: true },
  form: { response: z.string(), streamsForm: z.string() },
  hash: { response: z.string(), waitsLong: true },
  feed: { response: EventStream },
} as const;

type Kind = keyof typeof kinds;

/** Starts a server whose requests each hold a slot until the test ends their responses. */
async function serve(t: ExecutionContext) {
  const limits = { requestsPerClient: 2, transfersPerUser: 2, transfers: 3 };
  const slots = createRequestSlots(limits, () => 0);
  let closed = 0;
  const served: { readonly client: string; readonly response: ServerResponse }[] = [];
  const server = createServer((req, res) => {
    res.once('close', () => (closed += 1));
    const [, client = '', kind = ''] = (req.url ?? '').split('/');
    const work = async () => void served.push({ client, response: res });
    slots
      .serve(kinds[kind as Kind], client, { req, res }, work)
      .catch((error: unknown) =>
        res.writeHead(503).end(error instanceof AppError ? error.code : ''),
      );
  });
  const port = await listenLocally(t, server);
  return {
    served,
    port,
    send(client: string, kind: Kind = 'json') {
      const sent = get({ port, path: `/${client}/${kind}`, agent: false });
      sent.on('error', () => undefined);
      return sent;
    },
    clients: () => served.map(({ client }) => client).toSorted(),
    untilClosed: (count: number) =>
      until(() => closed === count, { what: `${count} ended requests`, timeoutMs: 60_000 }),
    /** Resolves once `count` requests hold or have held a slot, and no more of them follow. */
    async untilServed(count: number) {
      await until(() => served.length >= count, { what: `${count} requests`, timeoutMs: 60_000 });
      await new Promise((resolve) => setTimeout(resolve, 50));
      t.is(served.length, count);
    },
  };
}

test('requests of one client beyond its slots wait, and those of others do not', async (t) => {
  const { served, send, clients, untilServed } = await serve(t);
  for (let n = 0; n < 5; n += 1) send('a');
  await untilServed(2);
  send('b');
  await untilServed(3);
  t.deepEqual(clients(), ['a', 'a', 'b']);
  served[0]?.response.end();
  await untilServed(4);
});

test('a response that the client does not read holds its slot', async (t) => {
  const { served, send, untilServed } = await serve(t);
  const reader = send('a');
  await untilServed(1);
  send('a');
  send('a');
  await untilServed(2);
  reader.once('response', (response) => response.pause());
  const [mine] = served;
  mine?.response.end(Buffer.alloc(2 ** 25));
  await untilServed(2);
  reader.destroy();
  await untilServed(3);
});

test('a client that hangs up while it waits leaves its place to the next one', async (t) => {
  const { served, send, untilServed, untilClosed } = await serve(t);
  send('a');
  send('a');
  await untilServed(2);
  const leaving = send('a');
  await once(leaving, 'socket').then(([socket]) => once(socket, 'connect'));
  send('a');
  await untilServed(2);
  leaving.destroy();
  await untilClosed(1);
  served[1]?.response.end();
  await untilServed(3);
  served[2]?.response.end();
  await untilServed(3);
});

test('work goes on in its slot when the client hangs up', async (t) => {
  const limits = { requestsPerClient: 1, transfersPerUser: 1, transfers: 1 };
  const slots = createRequestSlots(limits, () => 0);
  const started: string[] = [];
  const first = Promise.withResolvers<void>();
  const server = createServer((req, res) => {
    void slots.serve(kinds.json, 'a', { req, res }, async () => {
      started.push(req.url ?? '');
      if (req.url === '/first') await first.promise;
      res.end();
    });
  });
  const port = await listenLocally(t, server);
  const send = (path: string) => get({ port, path, agent: false }).on('error', () => undefined);
  const leaving = send('/first');
  await until(() => started.length === 1, { what: 'the first request', timeoutMs: 60_000 });
  leaving.destroy();
  const second = once(send('/second'), 'response');
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.deepEqual(started, ['/first']);
  first.resolve();
  await second;
  t.deepEqual(started, ['/first', '/second']);
});

test('requests that wait behind another one of a lost connection return their slots', async (t) => {
  const { port, send, untilServed, untilClosed } = await serve(t);
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  const head = (client: string) => `GET /${client}/json HTTP/1.1\r\nHost: vault.test\r\n\r\n`;
  socket.write(head('a') + head('b') + head('b'));
  await untilServed(3);
  send('b');
  await untilServed(3);
  socket.destroy();
  await untilClosed(3);
  await untilServed(4);
});

test('transfers, forms and waits for a hash leave the slots of other requests free', async (t) => {
  const { send, untilServed } = await serve(t);
  send('a', 'download');
  send('a', 'part');
  send('a', 'part');
  await untilServed(2);
  send('a', 'form');
  send('a', 'hash');
  send('a');
  await untilServed(5);
});

test('transfers are limited for all users together', async (t) => {
  const { send, served, untilServed } = await serve(t);
  for (const client of ['a', 'a', 'b', 'c']) send(client, 'part');
  await untilServed(3);
  served[0]?.response.end();
  await untilServed(4);
});

test('the slot of a large response rests longer', async (t) => {
  const limits = { requestsPerClient: 2, transfersPerUser: 2, transfers: 3 };
  const heldMs: number[] = [];
  const slots = createRequestSlots(limits, (_client, ms) => (heldMs.push(ms), 0));
  const server = createServer((req, res) => {
    const work = async () => new JsonText('x'.repeat(req.url === '/large' ? 2 ** 24 : 1));
    void slots.serve(kinds.json, 'a', { req, res }, work).then(() => res.end());
  });
  const port = await listenLocally(t, server);
  for (const [index, path] of ['/large', '/small'].entries()) {
    get({ port, path, agent: false }).on('response', (response) => response.resume());
    await until(() => heldMs.length > index, { what: 'a free slot', timeoutMs: 60_000 });
  }
  const [large = 0, small = 0] = heldMs;
  t.true(large - small > 500, `${large} ms and ${small} ms`);
});

test('a large error holds its slot until it is sent, and a small one does not', async (t) => {
  const limits = { requestsPerClient: 1, transfersPerUser: 1, transfers: 1 };
  const slots = createRequestSlots(limits, () => 0);
  const responses: ServerResponse[] = [];
  const server = createServer((req, res) => {
    const options = req.url === '/large' ? { texts: { serverData: '{}' } } : {};
    const work = () => Promise.reject(new AppError('sync_conflict', options));
    slots.serve(kinds.json, 'a', { req, res }, work).catch(() => void responses.push(res));
  });
  const port = await listenLocally(t, server);
  const send = (path: string) => get({ port, path, agent: false }).on('error', () => undefined);
  const untilRefused = (count: number) =>
    until(() => responses.length === count, { what: `${count} errors`, timeoutMs: 60_000 });
  send('/small');
  send('/small');
  await untilRefused(2);
  send('/large');
  await untilRefused(3);
  const waiting = send('/small');
  await once(waiting, 'finish');
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.is(responses.length, 3);
  responses[2]?.end();
  await untilRefused(4);
});

test('change feeds take no slot', async (t) => {
  const { send, untilServed } = await serve(t);
  for (let n = 0; n < 5; n += 1) send('a', 'feed');
  await untilServed(5);
});
