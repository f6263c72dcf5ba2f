import type { Owner, Tx } from '../../db/database.ts';
import type { JsonObject } from '../../json/json-values.ts';
import { applyUndo, type Undo } from '../merge/undo.ts';
import { readData } from './schema.ts';

/** The number of undos to read at once: each may have 512 KiB. */
const undosAtOnce = 8;

/**
 * Returns an object's data as of one of its versions, null for a deletion. The version must be at
 * most 7 days old, since the undos of older versions may be gone.
 */
export async function loadVersion(
  tx: Tx,
  { userId, tenantId }: Owner,
  objectId: string,
  version: number,
): Promise<JsonObject | null> {
  const object = await tx
    .selectFrom('sync_objects')
    .select(['version', 'data'])
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('object_id', '=', objectId)
    .executeTakeFirstOrThrow();
  let value: unknown = object.data === null ? null : JSON.parse(object.data);
  for (let at = object.version; at > version; at -= undosAtOnce) {
    const later = await tx
      .selectFrom('sync_history')
      .select(['version', 'undo'])
      .where('user_id', '=', userId)
      .where('tenant_id', '=', tenantId)
      .where('object_id', '=', objectId)
      .where('status', '=', 'APPLIED')
      .where('version', '<=', at)
      .where('version', '>', Math.max(version, at - undosAtOnce))
      .orderBy('version', 'desc')
      .execute();
    for (const { undo } of later) {
      if (undo !== null) value = applyUndo(value, JSON.parse(undo) as Undo);
    }
  }
  return value === null ? null : readData(JSON.stringify(value));
}
