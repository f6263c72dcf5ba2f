import type { Bytes } from '../../bytes/bytes.ts';

/**
 * Durable storage of what a device remembers, for one user and one client at a time. It holds
 * encrypted records. An application may pass its own implementation.
 */
export interface MemoryStore {
  /** Resolves with all records, in the order in which they were written. */
  load(): Promise<readonly Bytes[]>;
  /** Adds a record. MUST resolve only once it is durable. */
  append(record: Bytes): Promise<void>;
  /** Puts one record in the place of all. After a crash, a store MUST have either. */
  replace(record: Bytes): Promise<void>;
}
