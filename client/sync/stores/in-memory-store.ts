import type { SavedChanges, SavedState, SyncStore } from './store.ts';
import type { StoredObject } from './stored-object.ts';

/**
 * Creates a store in memory, whose content is lost with the page or process: for devices that are
 * always online, and for tests.
 */
export function createInMemoryStore(): SyncStore {
  const state = createSavedState();
  return {
    load: async () => structuredClone(state.present()),
    save: async (changes) => state.apply(structuredClone(changes)),
  };
}

/** Creates a state to which saved changes are applied one after the other. */
export function createSavedState(): {
  apply(changes: SavedChanges): void;
  present(): SavedState;
} {
  const objects = new Map<string, StoredObject>();
  let cursor: string | undefined;
  return {
    apply(changes) {
      for (const object of changes.objects) objects.set(object.objectId, object);
      for (const objectId of changes.forgotten) objects.delete(objectId);
      if (changes.cursor !== undefined) cursor = changes.cursor ?? undefined;
    },
    present: () => ({ objects: [...objects.values()], cursor }),
  };
}
