import type { z } from 'zod';
import { byOwner } from '../trail/event.ts';
import type { AuditTrail } from '../trail/trail.ts';
import type { Clock } from '../async/clock.ts';
import { lockName } from '../db/advisory-lock.ts';
import type { Database, Tx } from '../db/database.ts';
import type { KeyForm, ToEnvelope } from '../envelopes/key-form.ts';
import { envelopeEvent } from '../envelopes/recording.ts';
import { insertEnvelope, selectEnvelope, toStored } from '../envelopes/rows.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import { loadActive, touch } from '../sessions/active-device.ts';
import { maxDevices, type DeviceEnvelope, type DeviceEnvelopeView } from './schema.ts';
import type { SessionBinding } from './session-binding.ts';

interface NewDevice {
  readonly deviceId: string;
  readonly encryptedInfo?: string | undefined;
  readonly form: KeyForm;
}

/** The master key wrapped for each device of a user. */
export interface DeviceEnvelopes {
  /**
   * Registers a device with its envelope, and binds the session to it unless it is bound. Throws as
   * ToEnvelope does, device_blacklisted for this device or the session's, envelope_exists, quota_exceeded, or invalid_token where the
   * session ended meanwhile.
   */
  create(
    caller: Caller,
    device: NewDevice,
    requestId: string,
  ): Promise<z.input<typeof DeviceEnvelope>>;
  /**
   * Binds an unbound session of another issuer to the device, as a login of ours does. Throws
   * not_found or device_blacklisted.
   */
  get(caller: Caller, deviceId: string): Promise<z.input<typeof DeviceEnvelopeView>>;
}

interface DeviceEnvelopesOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly toEnvelope: ToEnvelope;
  readonly binding: SessionBinding;
  readonly clock: Clock;
}

export function createDeviceEnvelopes(options: DeviceEnvelopesOptions): DeviceEnvelopes {
  const { db, audit, toEnvelope, binding, clock } = options;
  return {
    async create(caller, { deviceId, encryptedInfo, form }, requestId) {
      const encryptedEnvelope = toEnvelope(form);
      audit.assertWritable();
      return db.asUser(caller, async (tx) => {
        // A session of another issuer goes on after its device was revoked, but to nothing new.
        const bound = await binding.find(tx, caller);
        if (bound !== undefined) await loadActive(tx, caller, bound);
        // No new master key comes in between: it would leave this envelope out.
        await selectEnvelope(tx, caller, { kind: 'MASTER' }).forShare().execute();
        await insertDevice(tx, caller, { deviceId, encryptedInfo }, clock());
        const name = { kind: 'DEVICE', deviceId } as const;
        const row = await insertEnvelope(tx, caller, name, { encryptedEnvelope });
        await binding.bind(tx, caller, deviceId);
        await audit.append(tx, {
          action: 'device.registered',
          ...byOwner(caller, requestId),
          resource: { type: 'device', id: deviceId },
          data: { envelopeId: row.id, bySession: caller.sessionId ?? null },
        });
        await audit.append(tx, envelopeEvent('envelope.created', row, caller, requestId));
        return { ...toStored(row), deviceId };
      });
    },

    get: (caller, deviceId) =>
      db.asUser(caller, async (tx) => {
        const device = await loadActive(tx, caller, deviceId, 'not_found');
        const name = { kind: 'DEVICE', deviceId } as const;
        const row = await selectEnvelope(tx, caller, name).executeTakeFirst();
        if (row === undefined) throw new AppError('not_found');
        const lastUsedAt = await touch(tx, caller, device, clock());
        if (binding.isForeign(caller)) await binding.bind(tx, caller, deviceId);
        return { ...toStored(row), deviceId, lastUsedAt, createdAt: row.created_at };
      }),
  };
}

interface DeviceContent {
  readonly deviceId: string;
  readonly encryptedInfo: string | undefined;
}

/** Throws envelope_exists for a registered device, device_blacklisted or quota_exceeded. */
async function insertDevice(
  tx: Tx,
  { userId, tenantId }: Caller,
  { deviceId, encryptedInfo }: DeviceContent,
  now: Date,
): Promise<void> {
  // Registrations of one user take turns, so that each counts all before it.
  await lockName(tx, `devices:${userId}`);
  const inserted = await tx
    .insertInto('devices')
    .values({
      user_id: userId,
      tenant_id: tenantId,
      device_id: deviceId,
      encrypted_info: encryptedInfo ?? null,
      created_at: now,
    })
    .onConflict((conflict) => conflict.columns(['user_id', 'tenant_id', 'device_id']).doNothing())
    .returning('device_id')
    .executeTakeFirst();
  if (inserted === undefined) {
    await loadActive(tx, { userId, tenantId }, deviceId, 'envelope_exists');
    throw new AppError('envelope_exists');
  }
  const { count } = await tx
    .selectFrom('devices')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('revoked_at', 'is', null)
    .executeTakeFirstOrThrow();
  if (count > maxDevices) throw new AppError('quota_exceeded', { retryAfterSeconds: 3600 });
}
