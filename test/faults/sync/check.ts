import { isObject, isSame } from '../../../client/sync/objects/json.ts';
import { isWithin, valueAt } from '../../../client/sync/objects/json-pointer.ts';
import type { ObjectEncryption } from '../../../client/sync/objects/object-encryption.ts';
import { splitStatements } from '../../../client/sync/statements/statements-member.ts';
import { leavesOf } from '../../../app/sync/merge/json-pointer.ts';
import type { WireWrite } from './network.ts';
import type { Act, Choice, Seen, SyncRecord } from './record.ts';

/** One version of an object in plaintext, and the write that made it. */
export interface Version {
  readonly version: number;
  readonly data: Seen;
  readonly write: WireWrite;
}

/** Returns the versions of every object in order, as the vault's responses told them. */
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
    const data = isObject(sealed)
      ? (await encryption.open(objectId, splitStatements(sealed).data)).data
      : undefined;
    versions.set(version, { version, data, write });
  }
  return new Map(
    [...byObject].map(([objectId, versions]) => [
      objectId,
      [...versions.values()].toSorted((one, other) => one.version - other.version),
    ]),
  );
}

/** Fields whose conflicts the vault settles by a rule. */
const ruled = new Set(['/title', '/tags', '/count']);

/**
 * Returns changes of fields that nothing explains. A change is explained if the device that made it
 * was asked for it when it saw the replaced value, or chose it in a conflict, or if a rule of the
 * vault settled it.
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
 * Returns changes that a client had acknowledged and that were lost. A change is not lost if some
 * version has it, if its own device later changed or chose another value, or if a rule settled it.
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
        // A removal also counts as done if others removed the value, or the vault never had it.
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
 * Returns versions that repeat an earlier write. Encryption is random, so equal ciphertext in a
 * delta means that one write was applied again under another request.
 */
export function repeatedWrites(versions: readonly Version[]): string[] {
  const known = new Set<string>();
  return versions.flatMap(({ version, write }) => {
    const { objectId, delta = {} } = write.body;
    const text = JSON.stringify(delta);
    const isRepeated = known.has(text);
    if (leavesOf(delta).some((leaf) => typeof valueOf(delta, leaf) === 'string')) known.add(text);
    return isRepeated ? [`${objectId} ${version} repeats an earlier version`] : [];
  });
}

/** A change that a device made to an object, or to the place `at` in it. */
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

/** Returns whether steps lead from one value of the leaf to another. */
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
  const leaves = new Set([before, after].flatMap((data) => leavesOf(data ?? {})));
  return [...leaves].filter((leaf) => !isSame(valueOf(before, leaf), valueOf(after, leaf)));
}

/**
 * Returns the leaf at `pointer` of a value located at `at`; undefined if an object is there, even
 * an empty one.
 */
function valueOf(value: unknown, pointer: string, at = ''): unknown {
  if (!isWithin(pointer, at)) return undefined;
  const found = valueAt(value, pointer.slice(at.length));
  return isObject(found) ? undefined : found;
}
