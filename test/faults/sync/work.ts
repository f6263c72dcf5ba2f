import { type JsonObject, isObject } from '../../../client/sync/objects/json.ts';
import { keysTo } from '../../../client/sync/objects/json-pointer.ts';
import type { SimulatedDevice } from './device.ts';
import type { SyncRecord } from './record.ts';

const places = ['/title', '/body', '/a/x', '/a/y', '/b/c/z', '/b/c/w', '/a', '/b/c', '/d~1e'];
const maxObjects = 25;

export interface Work {
  readonly device: SimulatedDevice;
  readonly record: SyncRecord;
  readonly random: () => number;
  /** Returns a different value each time. */
  readonly next: () => string;
}

/** Does one random thing that a user may do at a device, online or not. */
export async function act(work: Work): Promise<void> {
  const { device, random } = work;
  const ids = device.sync.list();
  const chance = random();
  const objectId = ids[Math.floor(random() * ids.length)];
  if (objectId === undefined || (chance < 0.1 && ids.length < maxObjects)) return create(work);
  if (chance < 0.14) return remove(work, objectId);
  return change(work, objectId);
}

async function create({ device, record, random, next }: Work): Promise<void> {
  const data = { title: next(), a: { x: next() }, tags: [next()], count: 1, empty: {}, none: null };
  const entry = { deviceId: device.deviceId, seen: undefined, after: data, atMs: Date.now() };
  record.begun.push(data);
  const objectId = await device.sync.create({
    data,
    ...(random() < 0.7 && { objectType: 'note' }),
  });
  record.acts.push({ ...entry, objectId, isKept: true });
}

async function change({ device, record, random, next }: Work, objectId: string): Promise<void> {
  const { deviceId, sync } = device;
  let entry: SyncRecord['acts'][number] | undefined;
  await sync.change(objectId, (seen) => {
    const after = edited(seen, random, next);
    entry = { deviceId, objectId, seen, after, atMs: Date.now(), isKept: false };
    record.acts.push(entry);
    return after;
  });
  if (entry !== undefined) entry.isKept = true;
}

async function remove({ device, record }: Work, objectId: string): Promise<void> {
  const { deviceId, sync } = device;
  let entry: SyncRecord['acts'][number] | undefined;
  // Starts a no-op change and the removal together, so that nothing comes between seeing and
  // removing.
  const seeing = sync.change(objectId, (seen) => {
    entry = { deviceId, objectId, seen, after: undefined, atMs: Date.now(), isKept: false };
    record.acts.push(entry);
    return seen;
  });
  await Promise.all([seeing, sync.remove(objectId)]);
  if (entry !== undefined) entry.isKept = true;
}

/**
 * Makes one to three edits: sets or removes a field, or replaces an object by a value or the
 * reverse.
 */
function edited(data: JsonObject, random: () => number, next: () => string): JsonObject {
  const edits = Array.from({ length: 1 + Math.floor(random() * 3) }, () => random());
  return edits.reduce((after, chance) => {
    if (chance < 0.1) return withValue(after, ['count'], countOf(after) + 1);
    if (chance < 0.2) return withValue(after, ['tags'], [...tagsOf(after), next()]);
    const pointer = places[Math.floor(random() * places.length)] ?? '';
    return withValue(after, keysTo(pointer), random() < 0.2 ? undefined : next());
  }, data);
}

function countOf({ count }: JsonObject): number {
  return typeof count === 'number' ? count : 0;
}

function tagsOf({ tags }: JsonObject): unknown[] {
  return Array.isArray(tags) ? tags : [];
}

function withValue(
  target: unknown,
  [key = '', ...below]: readonly string[],
  value: unknown,
): JsonObject {
  const members = new Map(isObject(target) ? Object.entries(target) : []);
  const inner = below.length > 0 ? withValue(members.get(key), below, value) : value;
  if (inner === undefined) members.delete(key);
  else members.set(key, inner);
  return Object.fromEntries(members);
}
