import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { Owner, Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import type { Schema } from '../db/schema.ts';
import { AppError } from '../errors/app-error.ts';
import type { ErrorCode } from '../errors/error-codes.ts';

/** Minimum milliseconds between two recorded uses of a device. */
const touchEveryMs = 60_000;

/**
 * Loads an active device. Throws device_blacklisted if the device is revoked, or the error code
 * `unknown` if the device does not exist.
 */
export async function loadActive(
  tx: Tx,
  owner: Owner,
  deviceId: string,
  unknown: ErrorCode = 'device_unknown',
): Promise<Device> {
  return assertActive(await selectDevice(tx, owner, deviceId).executeTakeFirst(), unknown);
}

/**
 * Loads a device as `loadActive` does, and locks the device's row for the rest of `tx`, so that the
 * device is not revoked meanwhile.
 */
export async function lockActive(
  tx: Tx,
  owner: Owner,
  deviceId: string,
  unknown: ErrorCode = 'device_unknown',
): Promise<Device> {
  takesLock(tx, 'device');
  const query = selectDevice(tx, owner, deviceId).forNoKeyUpdate();
  return assertActive(await query.executeTakeFirst(), unknown);
}

/**
 * Records the use of a device, at most once a minute. Resolves with the time of the last recorded
 * use.
 */
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

/**
 * Returns an active device. Throws device_blacklisted if the device is revoked, or the error code
 * `unknown` if the device is undefined.
 */
export function assertActive<D extends Device>(
  device: D | undefined,
  unknown: ErrorCode = 'device_unknown',
): D {
  if (device === undefined) throw new AppError(unknown);
  if (device.revokedAt !== null) throw new AppError('device_blacklisted');
  return device;
}

/** Selects a device of a user, revoked or not. */
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

/** Resolves with whether an id is that of a device of the user, revoked or not. */
export async function isDeviceOf(tx: Tx, owner: Owner, id: string): Promise<boolean> {
  return (await selectDevice(tx, owner, id).executeTakeFirst()) !== undefined;
}

/**
 * Locks the rows of a user's active devices for the rest of `tx`, so that no active device is
 * revoked or changed meanwhile. Resolves with the device ids.
 */
export async function lockActiveDevices(tx: Tx, owner: Owner): Promise<string[]> {
  const active = await lockInOrder(tx, owner, ({ eb }) => eb('revoked_at', 'is', null));
  return active.map(({ device_id: deviceId }) => deviceId);
}

/**
 * Locks the rows of a user's active devices as `lockActiveDevices` does, and that of one device,
 * revoked or not. To lock that one later could deadlock: a transaction that has waited for a device
 * that was revoked meanwhile keeps its row locked, before those that follow.
 */
export async function lockActiveDevicesAnd(tx: Tx, owner: Owner, deviceId: string): Promise<void> {
  await lockInOrder(tx, owner, ({ eb, or }) =>
    or([eb('revoked_at', 'is', null), eb('device_id', '=', deviceId)]),
  );
}

function lockInOrder(
  tx: Tx,
  { userId, tenantId }: Owner,
  condition: (eb: ExpressionBuilder<Schema, 'devices'>) => Expression<SqlBool>,
) {
  takesLock(tx, 'device');
  return tx
    .selectFrom('devices')
    .select('device_id')
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where(condition)
    .orderBy('device_id')
    .forUpdate()
    .execute();
}
