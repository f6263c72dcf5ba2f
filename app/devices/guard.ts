import type { Clock } from '../async/clock.ts';
import type { Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import { compileOnce } from '../db/compile-once.ts';
import { AppError } from '../errors/app-error.ts';
import { Uuid, uuidText } from '../http/bodies/wire.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { Contribution } from '../http/routing/contribution.ts';
import type { Route } from '../http/routing/route.ts';
import { assertActive, selectDevice, touch } from '../sessions/active-device.ts';
import {
  selectBound,
  type CallersSession,
  type SessionBinding,
  type SessionKind,
} from '../sessions/session-binding.ts';

/** A caller, and the device that the request names in X-Device-Id. */
export interface DeviceCaller {
  readonly caller: Caller;
  readonly deviceId: string;
}

/**
 * Admits requests from the active device to which the caller's session is bound. `admit` and `hold`
 * throw device_blacklisted if the device is revoked, and device_unknown if it does not exist or is
 * not the session's device.
 */
export interface DeviceGuard {
  /** Admits a request that reads, without a lock on the device. */
  admit(tx: Tx, who: DeviceCaller): Promise<void>;
  /**
   * Admits a request that writes, and locks the device's row for the rest of `tx`, so that the
   * device is not revoked meanwhile. Writes of one device therefore run one after another, so that
   * many concurrent writes cannot delay a revocation for long. Call `hold` before taking a lock
   * that comes after `device` in app/db/lock-order.ts.
   */
  hold(tx: Tx, who: DeviceCaller): Promise<void>;
}

interface DeviceGuardOptions {
  readonly binding: SessionBinding;
  readonly clock: Clock;
}

/** Creates the guard of routes that only a registered device may use. */
export function createDeviceGuard({ binding, clock }: DeviceGuardOptions): DeviceGuard {
  async function check(
    tx: Tx,
    { caller, deviceId }: DeviceCaller,
    find: (typeof readers)[SessionKind],
  ): Promise<void> {
    const { sessionId, userId, tenantId, issuer } = caller;
    const [row] = await find(tx, { sessionId, userId, tenantId, issuer, deviceId });
    const device = assertActive(row);
    if (device.boundTo !== deviceId) throw new AppError('device_unknown');
    await touch(tx, caller, device, clock());
  }

  return {
    admit: (tx, who) => check(tx, who, readers[binding.kindOf(who.caller)]),
    hold(tx, who) {
      takesLock(tx, 'device');
      return check(tx, who, writers[binding.kindOf(who.caller)]);
    },
  };
}

type Sought = CallersSession & { readonly deviceId: string };

function selectOf(kind: SessionKind) {
  return (sought: Sought, db: Tx) =>
    selectDevice(db, sought, sought.deviceId).select(selectBound[kind](db, sought).as('boundTo'));
}

/** Finds the device of a request, and the device to which the caller's session is bound. */
const readerOf = (kind: SessionKind) =>
  compileOnce((sought: Sought, db) => selectOf(kind)(sought, db).compile());

/** Likewise, and locks the device's row for the rest of the transaction. */
const writerOf = (kind: SessionKind) =>
  compileOnce((sought: Sought, db) => selectOf(kind)(sought, db).forNoKeyUpdate().compile());

const readers = { own: readerOf('own'), foreign: readerOf('foreign'), none: readerOf('none') };
const writers = { own: writerOf('own'), foreign: writerOf('foreign'), none: writerOf('none') };

const contribution: Contribution = {
  requestHeaders: {
    'X-Device-Id': uuidText.describe(
      'Id (UUID) of the active device to which the login session of the access token is bound.',
    ),
  },
  errors: ['device_required', 'device_unknown', 'device_blacklisted', 'validation_failed'],
};

/**
 * Returns the route with a guard that refuses a request without a valid X-Device-Id before the
 * route checks anything else in the request.
 */
export function requireDeviceId<S>(route: Route<S>): Route<S> {
  return {
    ...route,
    contributions: [...(route.contributions ?? []), contribution],
    handle: async (services, raw) => {
      parseDeviceId(raw.request.headers['x-device-id']);
      return route.handle(services, raw);
    },
  };
}

/**
 * Parses the header X-Device-Id. Throws device_required if the header is absent, and
 * validation_failed if the header is not a UUID.
 */
export function parseDeviceId(header: string | string[] | undefined): string {
  if (header === undefined) throw new AppError('device_required');
  const deviceId = Uuid.safeParse(header);
  if (deviceId.success) return deviceId.data;
  const details = [{ path: 'X-Device-Id', message: 'must be a UUID' }];
  throw new AppError('validation_failed', { details });
}
