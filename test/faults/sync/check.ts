import { isObject, isSame } from '../../../client/sync/objects/json.ts';
import { isWithin, valueAt } from '../../../client/sync/objects/json-pointer.ts';
import type { ObjectEncryption } from '../../../client/sync/objects/object-encryption.ts';
import { leavesOf } from '../../../app/sync/merge/json-pointer.ts';
import type { WireWrite } from './network.ts';
import type { Act, Choice, Seen, SyncRecord } from './record.ts';

/** One version of an object, in plaintext, and the write that made it. */
export interface Version {
  readonly version: number;
  readonly data: Seen;
  readonly write: WireWrite;
}

/** The versions of every object, from what the vault answered; each as a list in order. */
export async function versionsOf(
  { writes }: SyncRecord,
  encryption: ObjectEncryption,
): Promise<Map<string, Version[]>> {
  const byObject = new Map<string, Map<number, Version>>();
  for (const write of writes) {
    const version = write.answer['version'];
    if (write.status > 201 || typeof version !== 'number') continue;
    const { objectId } = write.body;
    const versions = byObject.get(objectId) ?? new Map<number, Version>();
    byObject.set(objectId, versions);
    if (versions.has(version)) continue;
    const sealed = write.answer['data'];
    const data = isObject(sealed) ? (await encryption.open(objectId, sealed)).data : undefined;
    versions.set(version, { version, data, write });
  }
  return new Map(
    [...byObject].map(([objectId, versions]) => [
      objectId,
      [...versions.values()].toSorted((one, other) => one.version - other.version),
    ]),
  );
}

/** Fields that rules of the vault settle. */
const ruled = new Set(['/title', '/tags', '/count']);

/**
 * Each change of a field that a version made is what its device was asked for, by somebody who saw
 * what it replaces, or who was asked; or a rule settled it. Answers what is not.
 */
export function unexplainedChanges(
  { acts, choices, begun }: SyncRecord,
  objectId: string,
  versions: readonly Version[],
): string[] {
  return versions.flatMap(({ version, data, write }, index) => {
    const before = versions[index - 1]?.data;
    const { deviceId } = write;
    const own = [
      ...stepsOf(acts, choices, deviceId, objectId),
      ...begun.map((to) => ({ at: '', from: undefined, to })),
    ];
    return changedLeaves(before, data)
      .filter((leaf) => !isByRule(write, leaf))
      .filter((leaf) => !isReachable(own, leaf, valueOf(before, leaf), valueOf(data, leaf)))
      .map((leaf) => {
        const [from, to] = [valueOf(before, leaf), valueOf(data, leaf)].map((v) =>
          JSON.stringify(v),
        );
        return `${objectId} ${version} ${leaf}: ${from} became ${to} unseen`;
      });
  });
}

/**
 * Each change that a client said it keeps is in some version, or its own device went on from it, or
 * chose another, or a rule did. Answers what is lost.
 */
export function lostActs(
  { acts, choices, givenUp, writes }: SyncRecord,
  versions: ReadonlyMap<string, readonly Version[]>,
): string[] {
  return acts.flatMap((act, index) => {
    const { deviceId, objectId, seen, after } = act;
    if (!act.isKept || givenUp.has(`${deviceId} ${objectId}`)) return [];
    const later = stepsOf(acts.slice(index + 1), choices, deviceId, objectId);
    const all = versions.get(objectId) ?? [];
    const isGone = all.length === 0 || all.some(({ data }) => data === undefined);
    if (after === undefined && (isGone || later.some(({ at }) => at === ''))) return [];
    if (later.some(({ at, to }) => at === '' && to === undefined)) return [];
    const reached = all.filter(
      ({ write }) => write.deviceId === deviceId && write.sentAt >= act.atMs,
    );
    return changedLeaves(seen, after)
      .filter((leaf) => {
        const value = valueOf(after, leaf);
        if (reached.some(({ data }) => isSame(valueOf(data, leaf), value))) return false;
        // What others removed too, or the vault never had, is gone all the same.
        const isStill = isSame(valueOf(all.at(-1)?.data, leaf), valueOf(seen, leaf));
        if (value === undefined && !isStill) return false;
        const left = (step: Step) =>
          isSame(valueOf(step.from, leaf, step.at), value) &&
          !isSame(valueOf(step.to, leaf, step.at), value);
        if (later.some(left)) return false;
        return !(ruled.has(leaf) && writes.some((write) => isByRule(write, leaf)));
      })
      .map((leaf) => `${objectId} ${leaf}: ${JSON.stringify(valueOf(after, leaf))} of ${deviceId}`);
  });
}

/**
 * Encryption is random, so that a write with the very delta of an earlier version, ciphertext and all,
 * is that one done again under another request. Answers what was.
 */
export function repeatedWrites(versions: readonly Version[]): string[] {
  const known = new Set<string>();
  return versions.flatMap(({ version, write }) => {
    const { objectId, delta = {} } = write.body;
    const text = JSON.stringify(delta);
    const isRepeated = known.has(text);
    if ([...leavesOf(delta)].some((leaf) => typeof valueOf(delta, leaf) === 'string'))
      known.add(text);
    return isRepeated ? [`${objectId} ${version} repeats an earlier version`] : [];
  });
}

/** What a device made of what, of the object or of a place in it. */
interface Step {
  readonly at: string;
  readonly from: unknown;
  readonly to: unknown;
}

function stepsOf(
  acts: readonly Act[],
  choices: readonly Choice[],
  deviceId: string,
  objectId: string,
): Step[] {
  const isOwn = (of: Act | Choice) => of.deviceId === deviceId && of.objectId === objectId;
  return [
    ...acts.filter(isOwn).map(({ seen, after }) => ({ at: '', from: seen, to: after })),
    ...choices.filter(isOwn).flatMap(({ pointer, mine, theirs, result }) => [
      { at: pointer, from: mine, to: result },
      { at: pointer, from: theirs, to: result },
    ]),
  ];
}

/** Whether steps lead from one value of the leaf to another. */
function isReachable(steps: readonly Step[], leaf: string, from: unknown, to: unknown): boolean {
  const reached: unknown[] = [to];
  for (const value of reached) {
    if (isSame(value, from)) return true;
    for (const step of steps.filter(({ at }) => isWithin(leaf, at) || isWithin(at, leaf))) {
      if (!isSame(valueOf(step.to, leaf, step.at), value)) continue;
      const origin = valueOf(step.from, leaf, step.at);
      if (!reached.some((known) => isSame(known, origin))) reached.push(origin);
    }
  }
  return false;
}

function isByRule({ answer }: WireWrite, leaf: string): boolean {
  const rule = String(answer['ruleApplied']);
  return ruled.has(leaf) && /LAST_WRITE_WINS|MAX|UNION/.test(rule);
}

function changedLeaves(before: Seen, after: Seen): string[] {
  const leaves = new Set([before, after].flatMap((data) => Array.from(leavesOf(data ?? {}))));
  return [...leaves].filter((leaf) => !isSame(valueOf(before, leaf), valueOf(after, leaf)));
}

/** The leaf at a pointer, of a value that is at `at`; undefined where an object is, even an empty one. */
function valueOf(value: unknown, pointer: string, at = ''): unknown {
  if (!isWithin(pointer, at)) return undefined;
  const found = valueAt(value, pointer.slice(at.length));
  return isObject(found) ? undefined : found;
}
