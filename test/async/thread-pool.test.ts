import test, { type ExecutionContext } from 'ava';
import { createThreadPool, ThreadPoolError } from '../../app/async/thread-pool.ts';
import { until } from '../../app/dev/processes/until.ts';

/** Adds 1 to a number; dies, exits or hangs at the word for it. */
const counting = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', (request) => {
    if (request === 'die') throw new Error('dies');
    if (request === 'exit') process.exit(7);
    if (request === 'hang') return;
    parentPort.postMessage(request + 1);
  });`;

function createPool(t: ExecutionContext, { program = counting, count = 1 } = {}) {
  const threads = createThreadPool<unknown, number>({
    program: new URL(`data:text/javascript,${encodeURIComponent(program)}`),
    count,
  });
  t.teardown(() => threads.close());
  return threads;
}

test('a thread that dies fails only the job it runs, however often it happens', async (t) => {
  const threads = createPool(t, { count: 2 });
  const requests = Array.from({ length: 12 }, (_, at) =>
    at % 3 === 0 ? at : ['die', 'exit'][at % 2],
  );
  const answers = await Promise.allSettled(requests.map((request) => threads.run(request)));
  for (const [at, answer] of answers.entries()) {
    if (at % 3 === 0) t.deepEqual(answer, { status: 'fulfilled', value: at + 1 });
    else t.true(answer.status === 'rejected' && answer.reason instanceof ThreadPoolError);
  }
  t.is(await threads.run(41), 42);
});

test('a program that never starts fails every job at once instead of hanging', async (t) => {
  const threads = createPool(t, { program: `throw new Error('no start')`, count: 2 });
  const answers = await Promise.allSettled([1, 2, 3, 4, 5].map((request) => threads.run(request)));
  t.true(answers.every(({ status }) => status === 'rejected'));
});

test('a request that cannot be cloned is refused, and its thread stays usable', async (t) => {
  const threads = createPool(t);
  const unsendable = { call: () => undefined };
  await t.throwsAsync(threads.run(unsendable), { instanceOf: ThreadPoolError });
  const answers = await Promise.allSettled([1, unsendable, 3].map((one) => threads.run(one)));
  t.deepEqual(
    answers.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
});

test('closing the pool rejects running, waiting and later jobs', async (t) => {
  const threads = createPool(t);
  await threads.run(1);
  const refused = Promise.allSettled([threads.run('hang'), threads.run(2)]);
  await threads.close();
  for (const answer of await refused) {
    t.true(answer.status === 'rejected' && answer.reason instanceof ThreadPoolError);
  }
  await t.throwsAsync(threads.run(3), { instanceOf: ThreadPoolError });
  await t.notThrowsAsync(threads.close());
});

test('an idle thread that dies is replaced', async (t) => {
  const program = `
    import { parentPort, threadId } from 'node:worker_threads';
    parentPort.on('message', () => {
      parentPort.postMessage(threadId);
      setImmediate(() => process.exit(1));
    });`;
  const threads = createPool(t, { program });
  const first = await threads.run('first');
  // The dying thread may still be given a job, which it either fails or answers.
  const answered = await until(
    async () => {
      const second = await threads.run('next').catch(() => first);
      return second !== first && second;
    },
    { what: 'another thread', timeoutMs: 60_000 },
  );
  t.true(answered > first);
});
