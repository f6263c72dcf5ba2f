import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { ClientError } from '../../../client/errors/client-error.ts';
import { openSyncFile } from '../../../client/node/sync-file.ts';
import { isSame } from '../../../client/sync/objects/json.ts';
import { createInMemoryStore } from '../../../client/sync/stores/in-memory-store.ts';
import { createLeafCipher } from '../../../client/sync/objects/leaf-encryption.ts';
import { createObjectEncryption } from '../../../client/sync/objects/object-encryption.ts';
import { chosen } from '../../../client/sync/objects/resolver.ts';
import type { SyncOptions } from '../../../client/sync/sync.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { rounds, seed, seededRandom } from '../../support/runs/rounds.ts';
import { lostActs, repeatedWrites, unexplainedChanges, versionsOf, type Version } from './check.ts';
import { KilledError, startDevice, type SimulatedDevice } from './device.ts';
import { createRecord, type SyncRecord } from './record.ts';
import { act } from './work.ts';

const operations = rounds * 500;
const hourMs = 3_600_000;
const skewsMs = [-1.5 * hourMs, 0, 5 * hourMs];
const masterKey = randomBytes(32);
const publicFields = { note: ['/tags', '/count'] };
const rules = {
  note: {
    public: publicFields.note,
    rules: { '/title': 'LAST_WRITE_WINS', '/tags': 'UNION', '/count': 'MAX' },
  },
};

test('three devices of one user converge, and no change is lost or applied twice', async (t) => {
  t.timeout(120_000 + rounds * 60_000);
  t.log(`SEED=${seed} ROUNDS=${rounds}`);
  await using resources = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'probatio-sync-'));
  resources.defer(() => rm(directory, { recursive: true }));
  const rulesFile = join(directory, 'rules.json');
  await writeFile(rulesFile, JSON.stringify(rules));
  const vault = await startVault({ SYNC_RULES_FILE: rulesFile });
  resources.defer(() => vault.stop());
  const file = resources.use(await openSyncFile(join(directory, 'device')));

  const random = seededRandom(seed);
  const record = createRecord();
  let values = 0;
  const next = () => `value ${(values += 1)}`;
  const userId = randomUUID();
  const devices: SimulatedDevice[] = [];
  for (const [index, store] of [createInMemoryStore(), createInMemoryStore(), file].entries()) {
    const device = await startDevice({
      vault,
      userId,
      store,
      random,
      skewMs: skewsMs[index] ?? 0,
      record: (write) => record.writes.push(write),
      options: (deviceId) => choices(deviceId, record, random, next),
    });
    devices.push(device);
  }

  const syncs = new Map<SimulatedDevice, Promise<unknown>>();
  for (let done = 0; done < operations; done += 1) {
    const device = devices[Math.floor(random() * devices.length)] ?? t.fail();
    const chance = random();
    if (chance < 0.005 || device.isDead) await device.restart();
    else if (chance < 0.05) device.network.isOnline = !device.network.isOnline;
    else if (chance < 0.3) {
      await syncs.get(device);
      // Further work at this and other devices runs concurrently with this sync on purpose.
      syncs.set(device, untilFault(device.sync.sync()));
    } else await untilFault(act({ device, record, random, next }));
  }
  await Promise.all(syncs.values());
  await untilQuiet(t, devices);

  const encryption = createObjectEncryption(createLeafCipher({ masterKey }), publicFields);
  const versions = await versionsOf(record, encryption);
  await assertHistory(t, { vault, userId, devices, versions });
  for (const [objectId, all] of versions) {
    t.deepEqual(repeatedWrites(all), [], 'no write was applied twice');
    t.deepEqual(
      unexplainedChanges(record, objectId, all),
      [],
      'no device overwrote a value it had not seen',
    );
    await assertAlike(t, devices, objectId, all.at(-1)?.data);
  }
  const lost = lostActs(record, versions);
  t.deepEqual(
    lost,
    [],
    'every acknowledged change is in a version, or its device later replaced it',
  );
  t.log(
    `${record.acts.length} changes, ${record.writes.length} requests, ` +
      `${record.choices.length} choices, ${record.givenUp.size} given up, ` +
      `${devices.reduce((sum, { crashes }) => sum + crashes, 0)} crashes`,
  );
});

/** Returns options that resolve each conflict at random and record the choice. */
function choices(
  deviceId: string,
  record: SyncRecord,
  random: () => number,
  next: () => string,
): Omit<SyncOptions, 'deviceId' | 'store' | 'now'> {
  return {
    masterKey,
    schemaVersion: 1,
    publicFields,
    resolve(conflict) {
      const { objectId, pointer, mine, theirs } = conflict;
      const chance = random();
      const isThird = chance > 0.8 && pointer !== '';
      const ofTwo = chance < 0.4 ? 'mine' : 'theirs';
      const resolution = isThird ? { value: next() } : ofTwo;
      const result = chosen(resolution, conflict);
      record.choices.push({ deviceId, objectId, pointer, mine, theirs, result });
      return resolution;
    },
    resolveDeletion({ objectId, data }) {
      record.givenUp.add(`${deviceId} ${objectId}`);
      if (random() < 0.5) return 'drop';
      record.begun.push(data);
      return 'recreate';
    },
  };
}

/** Waits for work and tolerates only the tested faults, a killed process and a broken network. */
async function untilFault(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    // A RangeError is allowed: the object to change may just have been deleted.
    if (error instanceof KilledError || error instanceof RangeError) return;
    if (!(error instanceof ClientError) || error.code !== 'network_error') throw error;
  }
}

/** Brings all devices online without faults, and syncs until there are no more changes. */
async function untilQuiet(t: ExecutionContext, devices: readonly SimulatedDevice[]): Promise<void> {
  for (const device of devices) {
    if (device.isDead) await device.restart();
    device.network.isFaulty = false;
    device.network.isOnline = true;
  }
  for (let rounds = 1; rounds <= 20; rounds += 1) {
    let news = 0;
    for (const { sync } of devices) {
      const { received, sent, conflicts } = await sync.sync();
      news += received + sent + conflicts + sync.pending().length;
    }
    if (news === 0) return;
  }
  t.fail(
    `the devices do not converge: ${JSON.stringify(devices.map(({ sync }) => sync.pending()))}`,
  );
}

interface Ending {
  readonly vault: TestVault;
  readonly userId: string;
  readonly devices: readonly SimulatedDevice[];
  readonly versions: ReadonlyMap<string, readonly Version[]>;
}

/**
 * Asserts that every version exists once, without gaps, from the device and request that asked for
 * it.
 */
async function assertHistory(
  t: ExecutionContext,
  { vault, userId, devices, versions }: Ending,
): Promise<void> {
  const rows = await createSql(vault)(
    `select object_id, version, status, device_id, sync_request_id from sync_history
     where user_id = $1 order by object_id, id`,
    [userId],
  );
  const applied = rows.filter(({ status }) => status === 'APPLIED');
  const requests = new Set(applied.map((row) => row['sync_request_id']));
  t.is(requests.size, applied.length, 'no request was applied twice');
  const known = new Set<unknown>(devices.map(({ deviceId }) => deviceId));
  t.true(applied.every((row) => known.has(row['device_id'])));
  for (const [objectId, history] of Map.groupBy(applied, (row) => String(row['object_id']))) {
    t.deepEqual(
      history.map((row) => [row['version'], row['device_id'], row['sync_request_id']]),
      history.map((_, index) => {
        const { deviceId, requestId } = versions.get(objectId)?.[index]?.write ?? {};
        return [index + 1, deviceId, requestId];
      }),
    );
  }
  t.log(
    `${applied.length} versions of ${versions.size} objects, ` +
      `${rows.length - applied.length} conflicts`,
  );
}

/** Asserts that all devices have the object as the vault has it. */
async function assertAlike(
  t: ExecutionContext,
  devices: readonly SimulatedDevice[],
  objectId: string,
  data: Version['data'],
): Promise<void> {
  const [first, ...others] = await Promise.all(devices.map(({ sync }) => sync.get(objectId)));
  t.true(isSame(first?.data, data));
  for (const other of others) t.deepEqual(other, first);
}
