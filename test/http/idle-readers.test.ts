import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import test from 'ava';
import Koa from 'koa';
import { AppError } from '../../app/errors/app-error.ts';
import { createProxyTrust } from '../../app/http/requests/client-address.ts';
import { requestContext } from '../../app/http/requests/request-context.ts';
import { errorBoundary } from '../../app/http/server/error-boundary.ts';
import { idleMs } from '../../app/http/requests/idle-clients.ts';
import { limitIdleReader } from '../../app/http/responses/idle-readers.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { listenLocally } from '../support/network/local-server.ts';

test('a client that does not read its response is disconnected', async (t) => {
  const answering = Promise.withResolvers<ServerResponse>();
  const server = createServer((_request, response) => {
    limitIdleReader(response, 50);
    response.end(Buffer.alloc(2 ** 25));
    answering.resolve(response);
  });
  const socket = connect(await listenLocally(t, server), '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nHost: vault.test\r\n\r\n');
  const response = await answering.promise;
  await once(response, 'close');
  t.false(response.writableFinished);
});

test('so is a client that does not read an error', async (t) => {
  const log = createLog('silent');
  const app = new Koa();
  const limits: (number | undefined)[] = [];
  app.use(async ({ res }, next) => {
    await next();
    limits.push(res.socket?.timeout);
  });
  const observer = { began: () => undefined, ended: () => undefined };
  app.use(requestContext(createProxyTrust([]), log, observer));
  app.use(errorBoundary(log, () => undefined));
  app.use(() => {
    throw new AppError('sync_conflict', { texts: { serverData: '{}' } });
  });
  const handle = app.callback();
  const server = createServer((request, response) => void handle(request, response));
  const port = await listenLocally(t, server);
  const response = await fetch(`http://127.0.0.1:${port}/`);
  t.deepEqual(((await response.json()) as { readonly serverData: unknown }).serverData, {});
  t.deepEqual(limits, [idleMs]);
});
