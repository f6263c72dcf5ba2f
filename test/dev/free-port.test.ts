import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import test from 'ava';
import { freePort, nextPort } from '../../app/dev/free-port.ts';

test('a thread is given no port twice', async (t) => {
  // One after the other: each is let go before the next is looked for.
  const ports: number[] = [];
  for (let turn = 0; turn < 500; turn += 1) ports.push(await freePort());
  t.is(new Set(ports).size, ports.length);
});

test('threads that run side by side look for their ports in different places', async (t) => {
  const module = JSON.stringify(new URL('../../app/dev/free-port.ts', import.meta.url));
  const program = `
    import { parentPort } from 'node:worker_threads';
    import { nextPort } from ${module};
    parentPort.postMessage(Array.from({ length: 50 }, nextPort));`;
  const lists = await Promise.all(
    [1, 2, 3].map(async () => {
      const url = new URL(`data:text/javascript,${encodeURIComponent(program)}`);
      const [ports] = (await once(new Worker(url), 'message')) as [number[]];
      return ports;
    }),
  );
  const all = lists.flat();
  t.is(all.length, 150);
  t.is(new Set(all).size, all.length);
  t.true(all.every((port) => port >= 20_000 && port < 32_000));
  t.not(nextPort(), nextPort());
});
