import { sql } from 'kysely';
import type { z } from 'zod';
import type { Owner, Tx } from '../../db/database.ts';
import { countedObjects } from '../../usage/counted-objects.ts';
import { formatCursor, type Cursor } from '../objects/cursor.ts';
import { readAfter, selectNewest } from './read-after.ts';
import type { ChangeList, ChangePage } from '../objects/schema.ts';

type Page = z.output<typeof ChangePage>;

const theStart: Cursor = { epoch: '', change: 0 };

/**
 * Lists the objects that changed after the cursor `since`, or all objects if this history never
 * issued the cursor.
 */
export async function listChanges(
  tx: Tx,
  owner: Owner,
  page: Page,
): Promise<z.output<typeof ChangeList>> {
  const { since = theStart, limit } = page;
  const { start, rows, first } = await readAfter(since, (after) => {
    const changed = selectChanged(tx, owner, page, after);
    const found = changed
      .select(['object_id as objectId', 'version', 'deleted', 'last_modified_at', 'change_seq'])
      .orderBy('change_seq')
      .limit(limit);
    return selectNewest(tx, owner)
      .leftJoin(found.as('o'), (join) => join.onTrue())
      .select(['objectId', 'version', 'deleted', 'last_modified_at', 'change_seq'])
      .select(countedObjects(owner).as('total'))
      .orderBy('change_seq')
      .execute();
  });
  return {
    objects: rows.map(({ objectId, version, deleted, last_modified_at }) => ({
      objectId,
      version,
      lastModifiedAt: last_modified_at.toISOString(),
      ...(deleted ? { deleted: true as const } : {}),
    })),
    total: first.total,
    nextCursor: formatCursor({ ...start, change: rows.at(-1)?.change_seq ?? start.change }),
  };
}

/**
 * Selects every object that changed after the cursor. Without a cursor, selects every object;
 * tombstones are then included only on request.
 */
function selectChanged(
  tx: Tx,
  { userId, tenantId }: Owner,
  { since, includeDeleted }: Page,
  after: number,
) {
  const objects = tx
    .selectFrom('sync_objects')
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId);
  if (since !== undefined) return objects.where('change_seq', '>', after);
  return includeDeleted ? objects : objects.where('deleted', '=', sql<boolean>`false`);
}
