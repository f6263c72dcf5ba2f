import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { startDeadline } from '../../app/async/deadline.ts';
import { stopThread } from '../support/runs/stop-thread.ts';

test.serial('what arrived while the process was stopped is not late', async (t) => {
  const server = createServer(
    (socket) => void socket.on('error', () => undefined).on('data', () => socket.write('response')),
  );
  t.teardown(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const socket = connect(typeof address === 'object' ? (address?.port ?? 0) : 0, '127.0.0.1');
  t.teardown(() => socket.destroy());
  await once(socket, 'connect');
  let isLate = false;
  const cancel = startDeadline(100, () => {
    isLate = true;
  });
  socket.once('data', cancel).write('request');
  // Lets the server respond, but this socket not read the response.
  setImmediate(() => setImmediate(() => stopThread(300)));
  await delay(400);
  t.false(isLate);
});

test.serial('a deadline that passes calls once, and one that was cancelled never', async (t) => {
  let calls = 0;
  startDeadline(20, () => (calls += 1));
  const cancel = startDeadline(20, () => (calls += 10));
  cancel();
  await delay(200);
  t.is(calls, 1);
});
