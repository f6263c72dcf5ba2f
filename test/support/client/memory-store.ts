import type { Bytes } from '../../../client/bytes/bytes.ts';
import type { MemoryStore } from '../../../client/memory/storage/memory-store.ts';

/** Creates a store of what a device remembers that lives as long as the test. */
export function createTestMemory(): MemoryStore & { readonly records: () => readonly Bytes[] } {
  let records: readonly Bytes[] = [];
  return {
    records: () => records,
    load: async () => records,
    async append(record) {
      records = [...records, record];
    },
    async replace(record) {
      records = [record];
    },
  };
}
