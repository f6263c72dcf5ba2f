import type { z } from 'zod';
import { byOwner } from '../trail/event.ts';
import type { AuditTrail } from '../trail/trail.ts';
import { endSessionsOfDevice } from '../sessions/login-sessions.ts';
import type { Revocations } from '../sessions/revocations.ts';
import type { Clock } from '../async/clock.ts';
import type { Database, Owner, Tx } from '../db/database.ts';
import { envelopeEvent } from '../envelopes/recording.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import { assertIfMatch, type IfMatch } from '../http/answers/precondition.ts';
import { holdActive } from '../sessions/active-device.ts';
import type { DeviceView } from './schema.ts';
import type { SessionBinding } from './session-binding.ts';

type View = z.input<typeof DeviceView>;

interface Change {
  readonly encryptedInfo: string;
  readonly ifMatch: IfMatch | undefined;
  readonly requestId: string;
}

/** The devices of a user that have not been revoked. */
export interface Devices {
  /** By id; `cursor` is the last id of the page before, and undefined after the last page. */
  list(
    caller: Caller,
    page: { limit: number; cursor?: string | undefined },
  ): Promise<{ devices: View[]; cursor: string | undefined }>;
  /** Throws not_found, device_blacklisted, precondition_required or precondition_failed. */
  change(caller: Caller, deviceId: string, change: Change): Promise<View>;
  /**
   * For good, whatever the state of the audit backlog: its envelope is gone and its sessions end
   * everywhere within 5 s; those of other issuers stay bound to it, and are refused for that. Again,
   * it changes nothing. Throws not_found.
   */
  revoke(
    caller: Caller,
    deviceId: string,
    reason: string | undefined,
    requestId: string,
  ): Promise<void>;
}

interface DevicesOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly revocations: Revocations;
  readonly binding: SessionBinding;
  readonly clock: Clock;
}

export function createDevices(options: DevicesOptions): Devices {
  const { db, audit, revocations, binding, clock } = options;
  return {
    list: (caller, { limit, cursor }) =>
      db.asUser(caller, async (tx) => {
        let query = tx
          .selectFrom('devices')
          .selectAll()
          .where('user_id', '=', caller.userId)
          .where('tenant_id', '=', caller.tenantId)
          .where('revoked_at', 'is', null)
          .orderBy('device_id')
          .limit(limit + 1);
        if (cursor !== undefined) query = query.where('device_id', '>', cursor);
        const rows = await query.execute();
        const devices = rows.slice(0, limit).map(toView);
        return { devices, cursor: rows.length > limit ? devices.at(-1)?.deviceId : undefined };
      }),

    async change(caller, deviceId, { encryptedInfo, ifMatch, requestId }) {
      audit.assertWritable();
      return db.asUser(caller, async (tx) => {
        const { version } = await holdActive(tx, caller, deviceId, 'not_found');
        assertIfMatch(ifMatch, version);
        const row = await tx
          .updateTable('devices')
          .set({ encrypted_info: encryptedInfo, version: version + 1 })
          .where('user_id', '=', caller.userId)
          .where('tenant_id', '=', caller.tenantId)
          .where('device_id', '=', deviceId)
          .returningAll()
          .executeTakeFirstOrThrow();
        await audit.append(tx, {
          action: 'device.changed',
          ...byOwner(caller, requestId),
          resource: { type: 'device', id: deviceId },
          data: { bySession: caller.sessionId ?? null },
        });
        return toView(row);
      });
    },

    revoke: (caller, deviceId, reason, requestId) =>
      db.asUser(caller, async (tx) => {
        const isOwn = (await binding.find(tx, caller)) === deviceId && !binding.isForeign(caller);
        if (!(await blacklist(tx, caller, { deviceId, reason }, clock()))) return;
        const envelope = await removeEnvelope(tx, caller, deviceId);
        const sessions = await endSessionsOfDevice(tx, caller.userId, deviceId);
        // Here at once.
        if (isOwn && caller.sessionId !== undefined) await revocations.revoke(tx, caller.sessionId);
        await audit.append(tx, {
          action: 'device.revoked',
          ...byOwner(caller, requestId),
          resource: { type: 'device', id: deviceId },
          data: { sessions, bySession: caller.sessionId ?? null },
        });
        if (envelope === undefined) return;
        await audit.append(tx, envelopeEvent('envelope.removed', envelope, caller, requestId));
      }),
  };
}

/** False for a device that is revoked already. Throws not_found. */
async function blacklist(
  tx: Tx,
  { userId, tenantId }: Owner,
  { deviceId, reason }: { deviceId: string; reason: string | undefined },
  now: Date,
): Promise<boolean> {
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

function removeEnvelope(tx: Tx, { userId, tenantId }: Owner, deviceId: string) {
  return tx
    .deleteFrom('key_envelopes')
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('device_id', '=', deviceId)
    .returningAll()
    .executeTakeFirst();
}

interface Row {
  readonly device_id: string;
  readonly encrypted_info: string | null;
  readonly version: number;
  readonly last_used_at: Date | null;
  readonly created_at: Date;
}

function toView(row: Row): View {
  return {
    deviceId: row.device_id,
    encryptedInfo: row.encrypted_info,
    version: row.version,
    lastUsedAt: row.last_used_at,
    createdAt: row.created_at,
  };
}
