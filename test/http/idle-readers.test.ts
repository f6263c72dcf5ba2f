import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import test from 'ava';
import { limitIdleReader } from '../../app/http/responses/idle-readers.ts';
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
