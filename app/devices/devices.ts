import type { Selectable } from 'kysely';
import type { z } from 'zod';
import type { Clock } from '../async/clock.ts';
import type { Database, Owner, Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import type { Schema } from '../db/schema.ts';
import { envelopeEvent } from '../envelopes/recording.ts';
import { AppError } from '../errors/app-error.ts';
import { cutPage } from '../http/responses/page.ts';
import { assertIfMatch, type IfMatch } from '../http/responses/precondition.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import { lockActive } from '../sessions/active-device.ts';
import type { FreshProof } from '../sessions/fresh-proof.ts';
import { endSessionsOfDevice } from '../sessions/login-sessions.ts';
import type { Revocations } from '../sessions/revocations.ts';
import type { Act, Acted } from '../audit-trail/act.ts';
import type { RequestEvent } from '../audit-trail/event.ts';
import { isLastWay } from './last-way.ts';
import type { DeviceView } from './schema.ts';
import type { SessionBinding } from '../sessions/session-binding.ts';
import { removeDeviceEnvelope } from '../envelopes/rows.ts';

type View = z.input<typeof DeviceView>;

interface Change {
  readonly encryptedInfo: string;
  readonly ifMatch: IfMatch | undefined;
}

interface Revocation {
  readonly deviceId: string;
  readonly reason: string | undefined;
  /** The proof that the removal of the last way to the master key requires. */
  readonly proof: FreshProof;
}

interface ListPage {
  readonly limit: number;
  /** The last device id on the previous page. */
  readonly cursor?: string | undefined;
}

interface DevicesPage {
  readonly devices: View[];
  /** The last device id on this page; undefined if no further page exists. */
  readonly cursor: string | undefined;
}

interface DevicesOptions {
  readonly db: Database;
  readonly act: Act;
  readonly revocations: Revocations;
  readonly binding: SessionBinding;
  readonly clock: Clock;
}

export type Devices = ReturnType<typeof createDevices>;

/** Creates the service that lists, changes and revokes the devices of users. */
export function createDevices(options: DevicesOptions) {
  const { db, act, revocations, binding, clock } = options;

  async function revoke(
    tx: Tx,
    { caller }: ServiceRequest,
    revocation: Revocation,
  ): Promise<Acted<void>> {
    const { deviceId, proof } = revocation;
    if (await isLastWay(tx, caller, deviceId)) await proof.assertGiven(tx);
    const isOwn = (await binding.find(tx, caller)) === deviceId && !binding.isForeign(caller);
    if (!(await blacklist(tx, caller, revocation, clock()))) {
      return { answer: undefined, events: [] };
    }
    const envelope = await removeDeviceEnvelope(tx, caller, deviceId);
    const sessions = await endSessionsOfDevice(tx, caller.userId, deviceId);
    // End the caller's session in this process at once; other processes refuse it within 5 s.
    if (isOwn && caller.sessionId !== undefined) {
      await revocations.revoke(tx, caller, caller.sessionId);
    }
    const revoked: RequestEvent = {
      action: 'device.revoked',
      resource: { type: 'device', id: deviceId },
      data: { sessions, bySession: caller.sessionId ?? null },
    };
    const events =
      envelope === undefined ? [revoked] : [revoked, envelopeEvent('envelope.removed', envelope)];
    return { answer: undefined, events };
  }

  return {
    /** Lists the caller's devices that are not revoked, in the order of their ids. */
    list: ({ caller }: ServiceRequest, { limit, cursor }: ListPage): Promise<DevicesPage> =>
      db.asUser(caller, async (tx) => {
        let query = tx
          .selectFrom('devices')
          .select(columns)
          .where('user_id', '=', caller.userId)
          .where('tenant_id', '=', caller.tenantId)
          .where('revoked_at', 'is', null)
          .orderBy('device_id')
          .limit(limit + 1);
        if (cursor !== undefined) query = query.where('device_id', '>', cursor);
        const cursorOf = ({ device_id: id }: Row) => id;
        const page = cutPage(await query.execute(), { limit, cursorOf });
        return { devices: page.rows.map(toView), cursor: page.cursor };
      }),

    /**
     * Replaces the encrypted information about a device. Throws not_found, device_blacklisted,
     * precondition_required or precondition_failed.
     */
    change: (
      request: ServiceRequest,
      deviceId: string,
      { encryptedInfo, ifMatch }: Change,
    ): Promise<View> =>
      act(request, async (tx) => {
        const { caller } = request;
        const { version } = await lockActive(tx, caller, deviceId, 'not_found');
        assertIfMatch(ifMatch, version);
        const row = await updateInfo(tx, caller, deviceId, { encryptedInfo, version: version + 1 });
        const changed: RequestEvent = {
          action: 'device.changed',
          resource: { type: 'device', id: deviceId },
          data: { bySession: caller.sessionId ?? null },
        };
        return { answer: toView(row), events: [changed] };
      }),

    /**
     * Revokes a device permanently, even while the audit backlog is full. Removes the device's
     * envelope, and ends its login sessions in every process within 5 s. Sessions of other issuers
     * stay bound to the device, and are refused because the device is revoked. Idempotent. Throws
     * not_found, and as `FreshProof.assertGiven` does if the envelope is the last way to the master
     * key.
     */
    revoke: (request: ServiceRequest, revocation: Revocation): Promise<void> =>
      act(request, (tx) => revoke(tx, request, revocation), { evenWithFullBacklog: true }),
  };
}

/**
 * Marks a device as revoked. Resolves with false if the device is already revoked. Throws
 * not_found.
 */
async function blacklist(
  tx: Tx,
  { userId, tenantId }: Owner,
  { deviceId, reason }: Omit<Revocation, 'proof'>,
  now: Date,
): Promise<boolean> {
  takesLock(tx, 'device');
  const device = await tx
    .selectFrom('devices')
    .select('revoked_at')
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('device_id', '=', deviceId)
    .forUpdate()
    .executeTakeFirst();
  if (device === undefined) throw new AppError('not_found');
  if (device.revoked_at !== null) return false;
  await tx
    .updateTable('devices')
    .set({ revoked_at: now, revoke_reason: reason ?? null })
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('device_id', '=', deviceId)
    .execute();
  return true;
}

function updateInfo(
  tx: Tx,
  { userId, tenantId }: Owner,
  deviceId: string,
  { encryptedInfo, version }: { readonly encryptedInfo: string; readonly version: number },
): Promise<Row> {
  return tx
    .updateTable('devices')
    .set({ encrypted_info: encryptedInfo, version })
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('device_id', '=', deviceId)
    .returning(columns)
    .executeTakeFirstOrThrow();
}

const columns = ['device_id', 'encrypted_info', 'version', 'last_used_at', 'created_at'] as const;
type Row = Pick<Selectable<Schema['devices']>, (typeof columns)[number]>;

function toView(row: Row): View {
  return {
    deviceId: row.device_id,
    encryptedInfo: row.encrypted_info,
    version: row.version,
    lastUsedAt: row.last_used_at,
    createdAt: row.created_at,
  };
}
