import { canonicalText } from '../../json/canonical-text.ts';
import type { Owner, Tx } from '../../db/database.ts';
import { loadObject } from '../objects/object-rows.ts';
import { readData } from '../objects/schema.ts';

/**
 * Returns an object and its version history as RFC 8785 text. Throws not_found, also for a
 * tombstone.
 */
export async function exportObject(
  tx: Tx,
  owner: Owner,
  objectId: string,
  now: Date,
): Promise<string> {
  const { version, data } = await loadObject(tx, owner, objectId);
  const history = await tx
    .selectFrom('sync_history')
    .select(['version', 'recorded_at', 'device_id'])
    .where('user_id', '=', owner.userId)
    .where('tenant_id', '=', owner.tenantId)
    .where('object_id', '=', objectId)
    .where('status', '=', 'APPLIED')
    // A concurrent write may have added a later version since the object was read.
    .where('version', '<=', version)
    .orderBy('version')
    .execute();
  return canonicalText({
    object_id: objectId,
    exported_at: now.toISOString(),
    canonical_version: version,
    data: readData(data),
    history: history.map(({ version, recorded_at, device_id }) => ({
      version,
      timestamp: recorded_at.toISOString(),
      device_id,
    })),
  });
}
