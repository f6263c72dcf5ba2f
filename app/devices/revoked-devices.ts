import { sql } from 'kysely';
import type { Owner, Tx } from '../db/database.ts';

interface DeviceOfUser extends Owner {
  readonly deviceId: string;
}

/** Returns the given devices that are revoked. The devices may belong to different users. */
export async function findRevokedDevices<Device extends DeviceOfUser>(
  tx: Tx,
  devices: readonly Device[],
): Promise<ReadonlySet<Device>> {
  const userIds = devices.map(({ userId }) => userId);
  const tenantIds = devices.map(({ tenantId }) => tenantId);
  const deviceIds = devices.map(({ deviceId }) => deviceId);
  const rows = await tx
    .selectFrom('devices')
    .select(['user_id as userId', 'tenant_id as tenantId', 'device_id as deviceId'])
    .where('revoked_at', 'is not', null)
    .where(
      sql<boolean>`(user_id, tenant_id, device_id) in (
        select user_id, tenant_id, device_id
        from unnest(${userIds}::uuid[], ${tenantIds}::text[], ${deviceIds}::uuid[])
          as named (user_id, tenant_id, device_id)
      )`,
    )
    .execute();
  const revoked = new Set(rows.map(nameOf));
  return new Set(devices.filter((device) => revoked.has(nameOf(device))));
}

function nameOf({ userId, tenantId, deviceId }: DeviceOfUser): string {
  return `${userId} ${deviceId} ${tenantId}`;
}
