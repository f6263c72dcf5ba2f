import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import test from 'ava';
import { z } from 'zod';
import { createHttp } from '../../../client/http/http.ts';
import { nextCursor } from '../../../client/http/pages.ts';
import { defaultRetry } from '../../../client/http/retry.ts';
import { collect } from '../../support/client/collect.ts';

type Answer = (response: ServerResponse) => void;

/** Connects a client to a server that gives these responses, one a request. */
async function connect(answers: readonly Answer[]) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    request.resume().on('end', () => answers[requests.length - 1]?.(response));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const delays: number[] = [];
  const http = createHttp({
    baseUrl: `http://127.0.0.1:${port}/base/`,
    fetch,
    now: () => new Date(),
    retry: { ...defaultRetry, random: () => 1, sleep: async (s) => void delays.push(s) },
  });
  return {
    http,
    requests,
    delays,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await once(server.close(), 'close');
    },
  };
}

function refuse(status: number, code: string, headers: Record<string, string> = {}): Answer {
  const body = { statusCode: status, message: 'No.', code, requestId: 'r-1', proofId: 'p-1' };
  return (response) => response.writeHead(status, headers).end(JSON.stringify(body));
}

/** Begins a response of ten announced bytes. */
const begin = (response: ServerResponse) =>
  response.writeHead(200, { 'content-length': '10' }).write('begun');

const hangUp: Answer = (response) => response.destroy();
const accept: Answer = (response) => response.end('{"answer":42}');
const Body = z.object({ answer: z.number() });

test('a repeatable request is repeated after the Retry-After of the server', async (t) => {
  const busy = refuse(503, 'service_unavailable', { 'retry-after': '7' });
  await using server = await connect([busy, hangUp, accept]);
  t.deepEqual(await server.http.json(Body, { method: 'GET', path: '/v1/x' }), { answer: 42 });
  t.deepEqual(server.delays, [7, 1]);
});

test('a request that must not be repeated is sent once', async (t) => {
  await using server = await connect([refuse(503, 'service_unavailable'), accept]);
  const sending = server.http.send({ method: 'POST', path: '/v1/x', json: {} });
  await t.throwsAsync(sending, { code: 'service_unavailable' });
  t.is(server.requests.length, 1);
});

test('a request is repeated under its idempotency key until there is a response', async (t) => {
  const busy = refuse(409, 'idempotency_in_progress', { 'retry-after': '2' });
  await using server = await connect([hangUp, busy, accept]);
  const request = { method: 'POST', path: '/v1/x', json: {}, idempotencyKey: 'k-1' } as const;
  t.deepEqual(await server.http.json(Body, request), { answer: 42 });
  t.deepEqual(server.delays, [0.5, 2]);
  const keys = server.requests.map(({ headers }) => headers['idempotency-key']);
  t.deepEqual(keys, ['k-1', 'k-1', 'k-1']);
});

test('an error carries the fields of the vault’s error body', async (t) => {
  await using server = await connect([refuse(409, 'document_sealed', { 'retry-after': '3' })]);
  const sending = server.http.send({ method: 'GET', path: '/v1/x' });
  t.like(await t.throwsAsync(sending), {
    name: 'VaultError',
    status: 409,
    code: 'document_sealed',
    requestId: 'r-1',
    details: [],
    retryAfterSeconds: 3,
    body: { proofId: 'p-1' },
  });
});

test('an error page of a proxy becomes an error with its status', async (t) => {
  await using server = await connect([(response) => response.writeHead(413).end('<html>')]);
  const sending = server.http.send({ method: 'GET', path: '/v1/x' });
  t.like(await t.throwsAsync(sending), { status: 413, code: 'http_413' });
});

test('a response of another shape is refused', async (t) => {
  await using server = await connect([
    (response) => response.end('{"answer":"42"}'),
    (response) => response.end('{'),
  ]);
  for (const _ of ['shape', 'syntax']) {
    const sending = server.http.json(Body, { method: 'GET', path: '/v1/x' });
    await t.throwsAsync(sending, { code: 'invalid_response' });
  }
});

test('a redirect is not followed, so that only the vault sees the token', async (t) => {
  const redirect: Answer = (response) =>
    response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end();
  await using server = await connect([redirect]);
  const sending = server.http.send({ method: 'POST', path: '/v1/x' });
  await t.throwsAsync(sending, { code: 'network_error' });
});

test('a response that is not JSON is not quoted, since it may hold a token', async (t) => {
  await using server = await connect([(response) => response.end('{"refreshToken":prt_secret}')]);
  const sending = server.http.send({ method: 'POST', path: '/v1/x', json: {} });
  const error = await t.throwsAsync(sending, { code: 'invalid_response' });
  t.notRegex(inspect(error), /prt_/);
});

test('bytes are sent with their length, below the path of the base URL', async (t) => {
  await using server = await connect([accept]);
  const request = { method: 'PUT', path: '/v1/x', bytes: new Uint8Array(5) } as const;
  await server.http.send({ ...request, query: { limit: 3, cursor: undefined } });
  t.like(server.requests[0], { method: 'PUT', url: '/base/v1/x?limit=3' });
  t.like(server.requests[0]?.headers, {
    'content-length': '5',
    'content-type': 'application/octet-stream',
  });
});

test('an aborted request rejects with the caller’s reason', async (t) => {
  const caller = new AbortController();
  const reason = new Error('the user left');
  await using server = await connect([() => caller.abort(reason)]);
  const sending = server.http.send({ method: 'GET', path: '/v1/x', signal: caller.signal });
  t.is(await t.throwsAsync(sending), reason);
});

test('a response that breaks or stalls halfway is an error', async (t) => {
  await using server = await connect([
    (response) => {
      begin(response);
      setImmediate(() => response.destroy());
    },
    begin,
    // On a slow machine the timeout may come before the headers; the client then asks again.
    begin,
    begin,
  ]);
  for (const _ of ['broken', 'stalled']) {
    const { pieces } = await server.http.open({ method: 'GET', path: '/v1/x', timeoutSeconds: 1 });
    await t.throwsAsync(collect(pieces), { name: 'ClientError', code: 'network_error' });
  }
});

test('a refused download is an error, and is repeated where that may help', async (t) => {
  await using server = await connect([
    refuse(503, 'storage_unavailable', { 'retry-after': '2' }),
    refuse(404, 'not_found'),
  ]);
  const opening = server.http.open({ method: 'GET', path: '/v1/x' });
  await t.throwsAsync(opening, { name: 'VaultError', code: 'not_found' });
  t.deepEqual(server.delays, [2]);
});

test('the cursor of the next page is found among other links', (t) => {
  t.is(nextCursor('</v1/documents?limit=2&cursor=a%2Bb>; rel="next"'), 'a+b');
  t.is(nextCursor('</a?cursor=1>; rel="prev", <https://x.example/a?cursor=2>; rel=next'), '2');
  t.is(nextCursor('</a?cursor=1>; rel="prev"'), undefined);
  t.is(nextCursor('</a>; rel="next"'), undefined);
  t.is(nextCursor(null), undefined);
});
