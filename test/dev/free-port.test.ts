import test from 'ava';
import { Worker } from 'node:worker_threads';
import { once } from 'node:events';
import { freePort } from '../../app/dev/free-port.ts';

/** As many as are sure to have one twice among them if each were drawn by itself. */
const count = 300;

const module = new URL('../../app/dev/free-port.ts', import.meta.url);
const program = `
  const { parentPort } = require('node:worker_threads');
  import(${JSON.stringify(module.href)}).then(async ({ freePort }) => {
    const ports = [];
    for (let n = 0; n < ${count}; n += 1) ports.push(await freePort());
    parentPort.postMessage(ports);
    parentPort.once('message', () => {});
  });
`;

const forLinux = process.platform === 'linux' ? test : test.skip;

forLinux('a port is given to one alone, whichever thread asks', async (t) => {
  const other = new Worker(program, { eval: true });
  t.teardown(() => other.terminate());
  const [theirs] = (await once(other, 'message')) as [number[]];
  const own: number[] = [];
  for (let n = 0; n < count; n += 1) own.push(await freePort());
  t.is(new Set([...own, ...theirs]).size, 2 * count);
});
