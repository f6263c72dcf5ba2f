import { z } from 'zod';
import { StoredObject } from './stored-object.ts';

/** Changes to save. A store saves all of them or none. */
export const SavedChanges = z.object({
  objects: z.array(StoredObject),
  /** Ids of objects to remove from the store. */
  forgotten: z.array(z.guid()),
  /** Position up to which the vault's changes were read; null to read them all again. */
  cursor: z.string().nullable().optional(),
});
export type SavedChanges = z.output<typeof SavedChanges>;

export interface SavedState {
  readonly objects: readonly StoredObject[];
  readonly cursor: string | undefined;
}

/**
 * Durable storage of a device's copies of objects and unsent changes, for one user and one client
 * at a time. An application may pass its own implementation.
 */
export interface SyncStore {
  /**
   * Resolves with everything that was saved; objects are in the order in which they were first
   * saved.
   */
  load(): Promise<SavedState>;
  /**
   * Saves changes. MUST resolve only once they are durable; after a crash, a store MUST have all or
   * none of the changes.
   */
  save(changes: SavedChanges): Promise<void>;
}
