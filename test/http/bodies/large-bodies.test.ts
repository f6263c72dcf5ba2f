import { once } from 'node:events';
import { createServer, request, type ClientRequest, type IncomingMessage } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { createHeavyWork } from '../../../app/async/heavy-work.ts';
import { createJsonBodies, largeAtOnce } from '../../../app/http/bodies/json-body.ts';
import { listenLocally } from '../../support/network/local-server.ts';

const large = JSON.stringify('x'.repeat(100_000));
const small = '"x"';

/**
 * Starts a server that reads bodies for the client named by the header `x-client`, and responds
 * when `work` ends.
 */
async function serve(t: ExecutionContext, work: () => Promise<unknown> = async () => undefined) {
  const { withBody } = createJsonBodies({ heavyWork: createHeavyWork(), restAfter: () => 0 });
  let hungUp = 0;
  const server = createServer((req, res) => {
    req.once('close', () => (hungUp += Number(!req.complete)));
    const client = String(req.headers['x-client']);
    withBody(req, client, { maxBodyBytes: 2 ** 20 }, work).then(
      () => res.end(),
      () => res.writeHead(400).end(),
    );
  });
  const port = await listenLocally(t, server);
  /** Begins a request; the test sends its body. */
  const begin = (client: string, body: string): ClientRequest => {
    const headers = {
      'content-type': 'application/json',
      'content-length': body.length,
      'x-client': client,
      expect: '100-continue',
    };
    const asking = request({ port, method: 'POST', headers, agent: false });
    asking.on('error', () => undefined);
    asking.flushHeaders();
    return asking;
  };
  return { begin, hungUp: () => hungUp };
}

async function statusOf(asking: ClientRequest): Promise<number | undefined> {
  const [response] = (await once(asking, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

/** Begins as many large bodies of one client as have turns, and sends only their first bytes. */
async function holdAll(begin: (client: string, body: string) => ClientRequest) {
  const held = Array.from({ length: largeAtOnce }, () => begin('busy', large));
  await Promise.all(held.map((asking) => once(asking, 'continue')));
  for (const asking of held) asking.write(large.slice(0, 10));
  return {
    finish: async () => {
      const answers = held.map(statusOf);
      for (const asking of held) asking.end(large.slice(10));
      return Promise.all(answers);
    },
  };
}

test('large bodies of one client queue up; small ones and other clients do not', async (t) => {
  const { begin } = await serve(t);
  const held = await holdAll(begin);
  let isNextAnswered = false;
  const next = begin('busy', large).end(large);
  const answered = statusOf(next).then((status) => {
    isNextAnswered = true;
    return status;
  });
  await once(next, 'continue');
  t.is(await statusOf(begin('other', large).end(large)), 200);
  t.is(await statusOf(begin('busy', small).end(small)), 200);
  t.false(isNextAnswered);
  t.deepEqual(await held.finish(), Array(largeAtOnce).fill(200));
  t.is(await answered, 200);
});

test('a large body holds its turn until its request is handled', async (t) => {
  const gate = Promise.withResolvers<void>();
  let handled = 0;
  const { begin } = await serve(t, async () => {
    handled += 1;
    await gate.promise;
  });
  const answers = Array.from({ length: 6 }, () => statusOf(begin('busy', large).end(large)));
  await until(async () => handled === largeAtOnce, {
    what: 'the first requests',
    timeoutMs: 60_000,
  });
  answers.push(statusOf(begin('other', large).end(large)));
  await until(async () => handled === largeAtOnce + 1, {
    what: 'the other client',
    timeoutMs: 60_000,
  });
  gate.resolve();
  t.deepEqual(await Promise.all(answers), Array(7).fill(200));
  t.is(handled, 7);
});

test('a client that hangs up while waiting takes no turn', async (t) => {
  const { begin, hungUp } = await serve(t);
  const held = await holdAll(begin);
  const gone = Array.from({ length: 4 }, () => begin('busy', large));
  await Promise.all(gone.map((asking) => once(asking, 'continue')));
  for (const asking of gone) asking.destroy();
  await until(async () => hungUp() === 4, { what: 'the server to notice', timeoutMs: 60_000 });
  await held.finish();
  t.is(await statusOf(begin('busy', large).end(large)), 200);
});
