import type { Clock } from '../async/clock.ts';
import type { Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { Route } from '../http/routing/route.ts';
import { Uuid } from '../http/bodies/wire.ts';
import { assertActive, selectDevice, touch } from '../sessions/active-device.ts';
import type { SessionBinding } from './session-binding.ts';

/** Who calls, on which device by its header. */
export interface DeviceCaller {
  readonly caller: Caller;
  readonly deviceId: string;
}

/**
 * Lets a request through on the active device that the caller's session is bound to. Both throw
 * device_blacklisted for a revoked device, and device_unknown for any other.
 */
export interface DeviceGuard {
  /** For a read. */
  admit(tx: Tx, who: DeviceCaller): Promise<void>;
  /**
   * For a write: nobody revokes the device until the transaction ends. Writes take turns for it, so
   * that no number of them keeps a revocation waiting. Call it first, as locks are taken in one order
   * (app/envelopes/rows.ts).
   */
  hold(tx: Tx, who: DeviceCaller): Promise<void>;
}

interface DeviceGuardOptions {
  readonly binding: SessionBinding;
  readonly clock: Clock;
}

export function createDeviceGuard({ binding, clock }: DeviceGuardOptions): DeviceGuard {
  const selectBound = (tx: Tx, { caller, deviceId }: DeviceCaller) =>
    selectDevice(tx, caller, deviceId).select(binding.select(tx, caller).as('boundTo'));

  async function check(
    tx: Tx,
    { caller, deviceId }: DeviceCaller,
    query: ReturnType<typeof selectBound>,
  ): Promise<void> {
    const device = assertActive(await query.executeTakeFirst());
    if (device.boundTo !== deviceId) throw new AppError('device_unknown');
    await touch(tx, caller, device, clock());
  }

  return {
    admit: (tx, who) => check(tx, who, selectBound(tx, who)),
    hold: (tx, who) => check(tx, who, selectBound(tx, who).forNoKeyUpdate()),
  };
}

/** The same route, which refuses a request without X-Device-Id before anything else of it is looked at. */
export function requireDeviceId(route: Route): Route {
  return {
    ...route,
    handle: async (raw) => {
      parseDeviceId(raw.request.headers['x-device-id']);
      return route.handle(raw);
    },
  };
}

/**
 * Of the header X-Device-Id. Throws device_required without one, and validation_failed where it is
 * no UUID.
 */
export function parseDeviceId(header: string | string[] | undefined): string {
  if (header === undefined) throw new AppError('device_required');
  const deviceId = Uuid.safeParse(header);
  if (deviceId.success) return deviceId.data;
  const details = [{ path: 'X-Device-Id', message: 'must be a UUID' }];
  throw new AppError('validation_failed', { details });
}
