import { deepEqual } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { randomBytes } from '@noble/hashes/utils.js';
import test from 'ava';
import * as fc from 'fast-check';
import { createHttp } from '../../../../client/http/http.ts';
import { ClientError } from '../../../../client/errors/client-error.ts';
import { applyPatch } from '../../../../client/sync/objects/merge-patch.ts';
import { createInMemoryStore } from '../../../../client/sync/stores/in-memory-store.ts';
import { openSync } from '../../../../client/sync/sync-client.ts';
import type { Sync } from '../../../../client/sync/sync.ts';
import { noMemory } from '../../../support/client/no-memory.ts';
import { rounds, seed } from '../../../support/runs/rounds.ts';
import { impatient } from '../devices.ts';
import { createModelVault } from './model-vault.ts';

const runs = rounds * 100;
const masterKey = randomBytes(32);
const publicFields = { note: ['/tags', '/count'] };
const rules = new Map([
  [
    'note',
    new Map([
      ['/title', 'LAST_WRITE_WINS'],
      ['/theirs', 'SERVER_WINS'],
      ['/mine', 'CLIENT_WINS'],
      ['/tags', 'UNION'],
      ['/count', 'MAX'],
    ] as const),
  ],
]);

const leaf = fc.nat(3);
const branch = fc.dictionary(fc.constantFrom('x', 'y'), fc.option(leaf), { maxKeys: 2 });
const patch = fc.record(
  {
    title: fc.option(leaf),
    theirs: fc.option(fc.oneof(leaf, branch)),
    mine: fc.option(leaf),
    a: fc.option(fc.oneof(leaf, branch)),
    b: fc.option(leaf),
    tags: fc.array(leaf, { maxLength: 2 }),
    count: leaf,
  },
  { requiredKeys: [] },
);

const step = fc.record({
  device: fc.nat(2),
  act: fc.oneof(
    { weight: 6, arbitrary: fc.record({ patch }) },
    { weight: 5, arbitrary: fc.constant('sync' as const) },
    { weight: 3, arbitrary: fc.constant('sync while another device does' as const) },
    { weight: 2, arbitrary: fc.constant('lose the next answer' as const) },
    { weight: 1, arbitrary: fc.constant('remove' as const) },
  ),
});

const mine = fc.array(fc.boolean(), { minLength: 20, maxLength: 20 });

test('no state is refused that devices and rules made', async (t) => {
  t.timeout(600_000);
  const history = fc.tuple(fc.array(step, { maxLength: 25 }), mine);
  await fc.assert(
    fc.asyncProperty(history, async ([steps, choices]) => {
      const vault = createModelVault(rules);
      const devices = await Promise.all([0, 1, 2].map(() => openDevice(vault, choices)));
      const [first] = devices;
      if (first === undefined) return;
      const id = await first.sync.create({ objectType: 'note', data: { a: { x: 0 }, title: 0 } });
      for (const { sync } of devices) await sync.sync();
      for (const { device: index, act } of steps) {
        const device = devices[index] ?? first;
        const other = devices[(index + 1) % devices.length] ?? first;
        if (act === 'lose the next answer') device.fail(lost);
        else if (act === 'sync while another device does') {
          device.fail(() => untilLost(other.sync.sync()));
          await untilLost(device.sync.sync());
          device.fail(undefined);
        } else if (act === 'sync') await untilLost(device.sync.sync());
        else if (device.sync.list().length > 0) {
          if (act === 'remove') await device.sync.remove(id);
          else await device.sync.change(id, (data) => applyPatch(data, act.patch));
        }
      }
      for (let round = 0; round < 4; round += 1) {
        for (const device of devices) {
          device.fail(undefined);
          await untilLost(device.sync.sync());
        }
      }
      const states = await Promise.all(devices.map(({ sync }) => sync.get(id)));
      const waiting = devices.map(({ sync }) => sync.pending());
      deepEqual(
        { states, waiting },
        { states: states.map(() => states[0]), waiting: [[], [], []] },
      );
    }),
    { numRuns: runs, seed, includeErrorInReport: true },
  );
  t.pass();
});

interface Device {
  readonly sync: Sync;
  /** Sets a fault that comes between the next write of the device and its answer. */
  fail(fault: (() => Promise<void>) | undefined): void;
}

let latest = 0;

async function openDevice(
  vault: ReturnType<typeof createModelVault>,
  choices: readonly boolean[],
): Promise<Device> {
  let chosen = 0;
  let fault: (() => Promise<void>) | undefined;
  const now = () => new Date((latest += 1));
  const http = createHttp({
    baseUrl: 'http://127.0.0.1',
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const { method, url, headers } = request;
      const isWrite = method === 'POST';
      const present = isWrite ? fault : undefined;
      if (present !== undefined) fault = undefined;
      const text = await request.text();
      if (present !== lost) await present?.();
      const response = vault.answer(method, new URL(url), headers, text);
      if (present === lost) await lost();
      return response;
    },
    retry: { ...impatient, attempts: 1 },
    now,
  });
  const sync = await openSync({
    http,
    memory: noMemory,
    masterKey,
    deviceId: randomUUID(),
    schemaVersion: 1,
    publicFields,
    store: createInMemoryStore(),
    now,
    resolveDeletion: () => 'drop',
    resolve: () => (choices[(chosen += 1) % choices.length] === true ? 'mine' : 'theirs'),
  });
  return { sync, fail: (next) => (fault = next) };
}

async function lost(): Promise<void> {
  throw new TypeError('The answer was lost.');
}

async function untilLost(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof ClientError) || error.code !== 'network_error') throw error;
  }
}
