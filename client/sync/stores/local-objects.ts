import { isSpent, type StoredObject } from './stored-object.ts';
import type { SyncStore } from './store.ts';
import { createTurns } from './turns.ts';

/** What is decided of objects; those of which nothing is left to know are forgotten. */
export interface Decision {
  readonly objects: readonly StoredObject[];
  /** Null to read all of the vault's changes again. */
  readonly cursor?: string | null;
}

/** The objects of the store, in memory too. */
export interface LocalObjects {
  ids(): string[];
  find(objectId: string): StoredObject | undefined;
  cursor(): string | undefined;
  /**
   * Decides on the present state, which nobody else changes meanwhile. Resolves once it is saved; if
   * it cannot be, nothing has changed.
   */
  commit(decide: () => Promise<Decision> | Decision): Promise<void>;
  subscribe(listener: (objectIds: readonly string[]) => void): () => void;
}

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
