import type { Owner, Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { ErrorCode } from '../errors/error-codes.ts';

/** Its use is written down again after this long. */
const touchEveryMs = 60_000;

/** Throws device_blacklisted for a device that was revoked, and `unknown` for none. */
export async function loadActive(
  tx: Tx,
  owner: Owner,
  deviceId: string,
  unknown: ErrorCode = 'device_unknown',
): Promise<Device> {
  return assertActive(await selectDevice(tx, owner, deviceId).executeTakeFirst(), unknown);
}

/** The same, and nobody revokes it until the transaction ends. */
export async function holdActive(
  tx: Tx,
  owner: Owner,
  deviceId: string,
  unknown: ErrorCode = 'device_unknown',
): Promise<Device> {
  const query = selectDevice(tx, owner, deviceId).forNoKeyUpdate();
  return assertActive(await query.executeTakeFirst(), unknown);
}

/** Records that a device was used, at most once a minute. Answers when it was used last. */
export async function touch(tx: Tx, owner: Owner, device: Device, now: Date): Promise<Date> {
  const { lastUsedAt } = device;
  if (lastUsedAt !== null && now.getTime() - lastUsedAt.getTime() < touchEveryMs) return lastUsedAt;
  await tx
    .updateTable('devices')
    .set({ last_used_at: now })
    .where('user_id', '=', owner.userId)
    .where('tenant_id', '=', owner.tenantId)
    .where('device_id', '=', device.deviceId)
    .execute();
  return now;
}

interface Device {
  readonly deviceId: string;
  readonly version: number;
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
}

/** Throws as loadActive does. */
export function assertActive<D extends Device>(
  device: D | undefined,
  unknown: ErrorCode = 'device_unknown',
): D {
  if (device === undefined) throw new AppError(unknown);
  if (device.revokedAt !== null) throw new AppError('device_blacklisted');
  return device;
}

export function selectDevice(tx: Tx, { userId, tenantId }: Owner, deviceId: string) {
  return tx
    .selectFrom('devices')
    .select([
      'device_id as deviceId',
      'version',
      'last_used_at as lastUsedAt',
      'revoked_at as revokedAt',
    ])
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('device_id', '=', deviceId);
}
