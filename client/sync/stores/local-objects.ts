import { isSpent, type StoredObject } from './stored-object.ts';
import type { SyncStore } from './store.ts';
import { createTurns } from '../../async/turns.ts';

/**
 * The records and the cursor that a commit saves. A record without pending writes whose object the
 * vault does not know is removed instead.
 */
export interface Decision {
  readonly objects: readonly StoredObject[];
  /** The new cursor; null makes the next synchronisation read all of the vault's changes again. */
  readonly cursor?: string | null;
}

/** The objects of the store, mirrored in memory. */
export interface LocalObjects {
  ids(): string[];
  find(objectId: string): StoredObject | undefined;
  /** Returns the cursor up to which the vault's changes were read; undefined for none. */
  cursor(): string | undefined;
  /**
   * Runs `decide`, one commit at a time, and saves its result. Resolves once the result is saved.
   * Rejects if saving fails; nothing has changed then.
   */
  commit(decide: () => Promise<Decision> | Decision): Promise<void>;
  /**
   * Calls `listener` with the ids of changed objects. Returns the function that unsubscribes it.
   */
  subscribe(listener: (objectIds: readonly string[]) => void): () => void;
}

/** Loads the objects of a store into memory. */
export async function loadLocalObjects(store: SyncStore): Promise<LocalObjects> {
  const saved = await store.load();
  const objects = new Map(saved.objects.map((object) => [object.objectId, object]));
  let { cursor } = saved;
  const inTurn = createTurns();
  const listeners = new Set<(objectIds: readonly string[]) => void>();

  async function commit(decide: () => Promise<Decision> | Decision): Promise<void> {
    const decision = await decide();
    const [spent, kept] = split(decision.objects);
    const forgotten = spent.map(({ objectId }) => objectId);
    const changed = decision.objects.map(({ objectId }) => objectId);
    if (changed.length === 0 && decision.cursor === undefined) return;
    const moved = decision.cursor === undefined ? {} : { cursor: decision.cursor };
    await store.save({ objects: kept, forgotten, ...moved });
    for (const object of kept) objects.set(object.objectId, object);
    for (const objectId of forgotten) objects.delete(objectId);
    if (decision.cursor !== undefined) cursor = decision.cursor ?? undefined;
    if (changed.length === 0) return;
    for (const listener of listeners) queueMicrotask(() => listener(changed));
  }

  return {
    ids: () => [...objects.keys()],
    find: (objectId) => objects.get(objectId),
    cursor: () => cursor,
    commit: (decide) => inTurn(() => commit(decide)),
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

function split(objects: readonly StoredObject[]): [StoredObject[], StoredObject[]] {
  return [objects.filter(isSpent), objects.filter((object) => !isSpent(object))];
}
