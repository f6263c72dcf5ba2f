import type { MemoryStore } from './memory-store.ts';

/** Returns the store as if it held nothing; the first record replaces what it holds. */
export function emptied(store: MemoryStore): MemoryStore {
  return {
    load: async () => [],
    append: (record) => store.append(record),
    replace: (record) => store.replace(record),
  };
}

/** Keeps nothing beyond the session. */
export const noStore: MemoryStore = {
  load: async () => [],
  append: async () => {},
  replace: async () => {},
};
