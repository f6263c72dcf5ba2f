import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { AppError } from '../../app/errors/app-error.ts';
import { unlessAborted, untilHangUp } from '../../app/http/requests/hang-up.ts';
import { listenLocally } from '../support/network/local-server.ts';

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

/** Sends a request to a server with the given handler. */
async function ask(t: ExecutionContext, handle: Handle) {
  const asking = request({ port: await listenLocally(t, createServer(handle)) });
  asking.on('error', () => undefined);
  asking.end();
  return asking;
}

test('work is aborted when its client hangs up', async (t) => {
  const told = Promise.withResolvers<unknown>();
  const asking = await ask(t, (request) => {
    const never = new Promise<never>(() => undefined);
    untilHangUp(request, async (hangUp) => {
      asking.destroy();
      return unlessAborted(never, hangUp);
    }).catch(told.resolve);
  });
  const error = await told.promise;
  t.true(error instanceof AppError && error.code === 'client_gone');
});

test('work for a client that is already gone is aborted at once', async (t) => {
  const told = Promise.withResolvers<boolean>();
  const asking = await ask(t, (request) => {
    request.socket.once('close', () => {
      void untilHangUp(request, async ({ aborted }) => told.resolve(aborted));
    });
    asking.destroy();
  });
  t.true(await told.promise);
});

test('finished work is answered, and its connection keeps no listener', async (t) => {
  const closeListeners: number[] = [];
  const asking = await ask(t, (request, response) => {
    const count = () => closeListeners.push(request.socket.listenerCount('close'));
    count();
    const answer = async () => {
      const text = await untilHangUp(request, async (hangUp) => {
        count();
        return unlessAborted(Promise.resolve('done'), hangUp);
      });
      count();
      response.end(text);
    };
    void answer();
  });
  const [response] = (await once(asking, 'response')) as [IncomingMessage];
  const [chunk] = (await once(response, 'data')) as [Buffer];
  t.is(chunk.toString(), 'done');
  const [before = 0, during, after] = closeListeners;
  t.deepEqual([during, after], [before + 1, before]);
});

test('failed work throws its own error, and its connection keeps no listener', async (t) => {
  const failed = Promise.withResolvers<unknown>();
  await ask(t, (request, response) => {
    const before = request.socket.listenerCount('close');
    untilHangUp(request, (hangUp) => unlessAborted(Promise.reject(new TypeError('x')), hangUp))
      .catch((error: unknown) => {
        t.is(request.socket.listenerCount('close'), before);
        failed.resolve(error);
      })
      .finally(() => response.end());
  });
  t.true((await failed.promise) instanceof TypeError);
});

test('the timeout for idle clients does not end work that they wait for', async (t) => {
  const asking = await ask(t, (request, response) => {
    request.setTimeout(30);
    void untilHangUp(request, async () => request.socket.timeout).then((timeout) =>
      response.end(String(timeout)),
    );
  });
  const [response] = (await once(asking, 'response')) as [IncomingMessage];
  const [chunk] = (await once(response, 'data')) as [Buffer];
  t.is(chunk.toString(), '0');
});
