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
 * The object with one change more, which makes `after` of its view. It becomes one write with the
 * last one, unless that may have been sent, or others changed what it changes; with a refused one in
 * any case, which would else keep it back.
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

/** The object with its removal, in place of changes that were not sent. */
export function queueRemoval(object: StoredObject, changedAt: number): StoredObject {
  const { last, rest } = openEnd(object);
  if (last?.kind === 'create') return { ...object, queue: rest };
  const under = { ...object, queue: rest };
  const before = last?.before ?? viewOf(under) ?? {};
  const baseVersion = Math.min(last?.baseVersion ?? Infinity, baseOf(under));
  return { ...object, queue: [...rest, { kind: 'remove', baseVersion, before, changedAt }] };
}

/** The object with its first write, where that was refused, and all that was done since as one. */
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
 * The same writes over a newer state of the vault's. Where others changed other places only, a write
 * that was not sent counts as made of that state. Else it keeps its base: the vault's rules may settle
 * it, which they do only for writes that are based on an older version.
 */
export function rebaseQueue(object: StoredObject): StoredObject {
  const { server } = object;
  if (server === null || server.data === null) return object;
  const { version, data } = server;
  let under: SealedObject | undefined = data;
  const queue = object.queue.map((write): QueuedWrite => {
    const before = under;
    under = afterWrite(under, write);
    if (write.kind === 'create' || write.request || before === undefined) return write;
    return isApart(write, data) ? { ...write, before, baseVersion: version } : write;
  });
  return { ...object, queue };
}

function isApart(write: Revision, data: SealedObject): boolean {
  return write.kind === 'change'
    ? isApartFrom(write.delta, write.before, data)
    : isSame(write.before, data);
}

/** The write that a new one becomes one with. A refused one always does: what is new may mend it. */
function openEnd(object: StoredObject): {
  last: Exclude<QueuedWrite, { kind: 'remove' }> | undefined;
  rest: QueuedWrite[];
} {
  const rest = object.queue.slice(0, -1);
  const last = object.queue.at(-1);
  if (last === undefined || last.request || last.kind === 'remove') {
    return { last: undefined, rest: object.queue };
  }
  const { refusal, ...open } = last;
  if (open.kind === 'create') return { last: open, rest };
  const isOverView = isSame(open.before, viewOf({ ...object, queue: rest }));
  return isOverView || refusal ? { last: open, rest } : { last: undefined, rest: object.queue };
}

/**
 * What whoever changes the view has seen: where it hides the vault's state, what the oldest of the
 * writes that hide it was made of.
 */
function baseOf(object: StoredObject, delta?: SealedObject): number {
  const { server, queue } = object;
  const data = server?.data ?? undefined;
  const isShown =
    delta === undefined ? queue.length === 0 : isApartFrom(delta, viewOf(object), data);
  if (server !== null && (queue.length === 0 || isShown)) return server.version;
  return Math.min(...queue.map((write) => (write.kind === 'create' ? 1 : write.baseVersion)));
}
