import { randomUUID } from 'node:crypto';
import { randomBytes } from '@noble/hashes/utils.js';
import test from 'ava';
import { createMemory } from '../../../client/memory/create-memory.ts';
import type { Memory } from '../../../client/memory/memory.ts';
import { createHistory } from '../../../client/memory/values/history.ts';

const masterKey = randomBytes(32);
const nothing = async () => {};

function createMemoryOfOne(): Memory {
  const memory: Memory = createMemory({
    openKeys: () => memory.lookAtKeys().sawMasterKeys({ masterKey }, 'password'),
    exchange: { read: nothing, exchange: nothing, restart: nothing },
  });
  return memory;
}

const stateOf = (version: number, change = 0) => ({
  version,
  change,
  metadataHash: `${version}${change}`.padStart(64, '0'),
});

test('each answer is compared with what was remembered when its look began', async (t) => {
  const memory = createMemoryOfOne();
  const id = randomUUID();
  const looks = [await memory.look()];
  for (const version of [2, 4, 6]) {
    await memory.madeDocument(id, stateOf(version));
    looks.push(await memory.look());
  }
  const [first, second, third, last] = looks;
  const refused = { code: 'rolled_back' };
  await t.notThrowsAsync(async () => first?.sawDocument(id, stateOf(1)));
  await t.throwsAsync(async () => second?.sawDocument(id, stateOf(1)), refused);
  await t.throwsAsync(async () => second?.sawDocument(id, stateOf(2, -1)), refused);
  await t.notThrowsAsync(async () => second?.sawDocument(id, stateOf(2)));
  await t.throwsAsync(async () => third?.sawDocument(id, stateOf(3)), refused);
  second?.end();
  await t.notThrowsAsync(async () => third?.sawDocument(id, stateOf(4)));
  await t.throwsAsync(async () => last?.sawDocument(id, stateOf(5)), refused);
});

test('an object is compared with what was remembered when the look began', async (t) => {
  const memory = createMemoryOfOne();
  const id = randomUUID();
  const stateAt = (count: number) => ({
    [id]: { statements: { d: [count, `${count}`] as const } },
  });
  const before = await memory.lookAtObjects();
  await before.saw(stateAt(1));
  const between = await memory.lookAtObjects();
  await between.saw(stateAt(2));
  t.deepEqual(before.known(id), []);
  t.like(between.known(id), [stateAt(1)[id]]);
  t.like((await memory.lookAtObjects()).known(id), [stateAt(2)[id]]);
});

test('replaced values are kept for the looks that are open, and no longer', (t) => {
  const history = createHistory<number>();
  const endFirst = history.open(1);
  const endSecond = history.open(3);
  history.keep('a', { until: 3, value: 30 });
  history.keep('a', { until: 5, value: 50 });
  const valuesAt = (...moments: number[]) => moments.map((at) => history.at('a', at)?.value);
  t.deepEqual(valuesAt(1, 3, 4, 5, 6), [30, 30, 50, 50, undefined]);
  endSecond();
  t.deepEqual(valuesAt(1, 4), [30, 50]);
  const endThird = history.open(4);
  endFirst();
  t.deepEqual(valuesAt(1, 4), [50, 50]);
  endThird();
  t.deepEqual(valuesAt(1, 4), [undefined, undefined]);
  t.false(history.isOpen());
});

test('a history never grows beyond its bound', (t) => {
  const history = createHistory<number>();
  history.open(0);
  for (let value = 0; value < 10_001; value += 1) history.keep(`${value}`, { until: 0, value });
  t.is(history.at('0', 0), undefined);
  t.is(history.at('1', 0)?.value, 1);
});
