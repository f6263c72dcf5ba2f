import { isBranch, isSame } from '../objects/json.ts';
import { isApartFrom, patchBetween } from '../objects/merge-patch.ts';
import type { SealedObject } from '../objects/object-encryption.ts';
import {
  afterWrite,
  viewOf,
  type QueuedWrite,
  type Revision,
  type StoredObject,
} from './stored-object.ts';

/**
 * Returns the object with a queued change that turns its view into `after`. The change is joined
 * with the last write of the queue, unless that write may have been sent or other devices changed
 * the same fields. A refused last write is always joined, because it would otherwise block the
 * change.
 */
export function queueChange(
  object: StoredObject,
  after: SealedObject,
  changedAt: number,
): StoredObject {
  const { last, rest } = openEnd(object);
  if (last?.kind === 'create') return { ...object, queue: [...rest, { ...last, data: after }] };
  const under = { ...object, queue: rest };
  const seen = viewOf(under) ?? {};
  const delta = patchBetween(seen, after);
  const baseVersion = Math.min(last?.baseVersion ?? Infinity, baseOf(under, delta));
  if (!isBranch(delta)) return { ...object, queue: rest };
  const before = last?.before ?? seen;
  const change = { kind: 'change', baseVersion, before, delta, changedAt } as const;
  return { ...object, queue: [...rest, change] };
}

/**
 * Returns the object with a queued removal, which replaces the last write of the queue if that
 * write was not sent.
 */
export function queueRemoval(object: StoredObject, changedAt: number): StoredObject {
  const { last, rest } = openEnd(object);
  if (last?.kind === 'create') return { ...object, queue: rest };
  const under = { ...object, queue: rest };
  const before = last?.before ?? viewOf(under) ?? {};
  const baseVersion = Math.min(last?.baseVersion ?? Infinity, baseOf(under));
  return { ...object, queue: [...rest, { kind: 'remove', baseVersion, before, changedAt }] };
}

/**
 * Joins all writes of the queue into one if the first write was refused. Otherwise returns the
 * object unchanged.
 */
export function joinRefused(object: StoredObject): StoredObject {
  const [first, ...later] = object.queue;
  const last = later.at(-1);
  if (first?.refusal === undefined || last === undefined) return object;
  const refused = { ...object, queue: [first] };
  if (last.kind === 'remove') return queueRemoval(refused, last.changedAt);
  const view = viewOf(object);
  return view === undefined ? object : queueChange(refused, view, last.changedAt);
}

/**
 * Returns the object with its writes rebased on the vault's state in `server`. If other devices
 * changed only other fields, an unsent write is based on this state. Otherwise the write keeps its
 * base version, because the vault's merge rules apply only to writes that are based on an older
 * version.
 */
export function rebaseQueue(object: StoredObject): StoredObject {
  const { server } = object;
  if (server === null || server.data === null) return object;
  const { version, data } = server;
  let under: SealedObject | undefined = data;
  const queue = object.queue.map((write): QueuedWrite => {
    const before = under;
    under = afterWrite(under, write);
    const isFixed = write.kind === 'create' || write.request !== undefined;
    if (isFixed || before === undefined) return write;
    return isApart(write, data) ? { ...write, before, baseVersion: version } : write;
  });
  return { ...object, queue };
}

function isApart(write: Revision, data: SealedObject): boolean {
  return write.kind === 'change'
    ? isApartFrom(write.delta, write.before, data)
    : isSame(write.before, data);
}

/**
 * Splits off the last write of the queue if a new write is to be joined with it. A refused write
 * always is, since the new write may correct it.
 */
function openEnd(object: StoredObject): {
  readonly last: Exclude<QueuedWrite, { kind: 'remove' }> | undefined;
  readonly rest: QueuedWrite[];
} {
  const rest = object.queue.slice(0, -1);
  const last = object.queue.at(-1);
  if (last === undefined || last.request !== undefined || last.kind === 'remove') {
    return { last: undefined, rest: object.queue };
  }
  const { refusal, ...open } = last;
  if (open.kind === 'create') return { last: open, rest };
  const isOverView = isSame(open.before, viewOf({ ...object, queue: rest }));
  const isJoined = isOverView || refusal !== undefined;
  return isJoined ? { last: open, rest } : { last: undefined, rest: object.queue };
}

/**
 * Returns the version that a change to the view is based on: the vault's present version if the
 * view shows the vault's values, otherwise the lowest base version in the queue.
 */
function baseOf(object: StoredObject, delta?: SealedObject): number {
  const { server, queue } = object;
  const data = server?.data ?? undefined;
  const isShown =
    delta === undefined ? queue.length === 0 : isApartFrom(delta, viewOf(object), data);
  if (server !== null && (queue.length === 0 || isShown)) return server.version;
  return Math.min(...queue.map((write) => (write.kind === 'create' ? 1 : write.baseVersion)));
}
