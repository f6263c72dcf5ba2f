import { largeTextLength, type HeavyWork } from '../../async/heavy-work.ts';
import type { Owner, Tx } from '../../db/database.ts';
import { canonicalText } from '../../json/canonical-text.ts';
import { applyUndo, type Undo } from '../merge/undo.ts';

/** The number of undos to read at once: each may have 512 KiB. */
const undosAtOnce = 8;

/**
 * Returns an object's text as of one of its versions, null for a deletion. The version must be at
 * most 7 days old, since the undos of older versions may be gone.
 */
export async function loadVersion(
  tx: Tx,
  heavyWork: HeavyWork,
  { userId, tenantId }: Owner,
  { objectId, version }: { readonly objectId: string; readonly version: number },
): Promise<string | null> {
  const object = await tx
    .selectFrom('sync_objects')
    .select(['version', 'data'])
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('object_id', '=', objectId)
    .executeTakeFirstOrThrow();
  if (object.version === version) return object.data;
  const stepsFor = (text: string) => heavyWork.stepsFor(text.length > largeTextLength);
  const present = object.data ?? 'null';
  let value = await stepsFor(present)((): unknown => JSON.parse(present));
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
      if (undo === null) continue;
      const newer = value;
      value = await stepsFor(undo)(() => applyUndo(newer, JSON.parse(undo) as Undo));
    }
  }
  return value === null ? null : stepsFor(present)(() => canonicalText(value));
}
