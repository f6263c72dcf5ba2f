import { z } from 'zod';
import { StoredObject } from './stored-object.ts';

/** What has become different. All of it is saved or nothing. */
export const SavedChanges = z.object({
  objects: z.array(StoredObject),
  /** Ids of objects of which nothing is left to know. */
  forgotten: z.array(z.guid()),
  /** How far the vault's changes were read; null to read them all again. */
  cursor: z.string().nullable().optional(),
});
export type SavedChanges = z.output<typeof SavedChanges>;

export interface SavedState {
  readonly objects: readonly StoredObject[];
  readonly cursor: string | undefined;
}

/** Where a device keeps its copies and what it has not sent, for one user, one client at a time. */
export interface SyncStore {
  load(): Promise<SavedState>;
  /** Resolves only once the changes are durable. After a crash all of them are there or none. */
  save(changes: SavedChanges): Promise<void>;
}
