import type { Database } from '../../db/database.ts';
import type { OutboxPayloads } from '../../outbox/outbox.ts';
import { PermanentFailure } from '../../outbox/permanent-failure.ts';
import type { ObjectStore } from '../../storage/interface/object-store.ts';
import { findFiles } from './references.ts';

interface ObjectRemovalOptions {
  readonly db: Database;
  readonly store: ObjectStore;
}

/**
 * Creates the function that deletes stored objects as the outbox promises. Throws PermanentFailure
 * for an object to which a document or an upload refers: whoever promised its deletion did not
 * remove the row, or a document was created from the object afterwards.
 */
export function createObjectRemoval({ db, store }: ObjectRemovalOptions) {
  return async ({ key, version }: OutboxPayloads['object.delete']): Promise<void> => {
    const { size } = await db.asService((tx) => findFiles(tx, [key]));
    if (size > 0) throw new PermanentFailure('a document or an upload refers to the object');
    await store.delete(key, version);
  };
}
