import type { Owner, Tx } from '../../db/database.ts';

/**
 * Removes the keys of a user and the devices that they are for. Answers how many there were. To be
 * called before sessions are ended: locks are taken in one order (app/envelopes/rows.ts).
 */
export async function removeKeys(
  tx: Tx,
  owner: Owner,
): Promise<{ envelopes: number; devices: number }> {
  const master = await removeEnvelopes(tx, owner).where('kind', '=', 'MASTER').executeTakeFirst();
  const devices = await removeFrom(tx, 'devices', owner);
  await removeFrom(tx, 'session_devices', owner);
  const others = await removeEnvelopes(tx, owner).executeTakeFirst();
  return { devices, envelopes: Number(master.numDeletedRows + others.numDeletedRows) };
}

/** Removes what the devices of a user shared. Answers how many objects there were. */
export async function removeSynchronised(tx: Tx, owner: Owner): Promise<{ syncObjects: number }> {
  await removeFrom(tx, 'sync_counters', owner);
  const syncObjects = await removeFrom(tx, 'sync_objects', owner);
  await removeFrom(tx, 'sync_history', owner);
  await removeFrom(tx, 'sync_requests', owner);
  return { syncObjects };
}

type Table =
  | 'devices'
  | 'session_devices'
  | 'sync_counters'
  | 'sync_objects'
  | 'sync_history'
  | 'sync_requests';

async function removeFrom(tx: Tx, table: Table, { userId, tenantId }: Owner): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom(table)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .executeTakeFirst();
  return Number(numDeletedRows);
}

function removeEnvelopes(tx: Tx, { userId, tenantId }: Owner) {
  return tx
    .deleteFrom('key_envelopes')
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId);
}
