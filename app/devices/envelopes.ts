import type { z } from 'zod';
import type { Clock } from '../async/clock.ts';
import { lockName } from '../db/advisory-lock.ts';
import type { Database, Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import { quotaExceeded } from '../db/usage/quota.ts';
import type { RowCipher } from '../encryption/row-cipher.ts';
import type { KeyForm, ToEnvelope } from '../envelopes/key-form.ts';
import { envelopeEvent } from '../envelopes/recording.ts';
import {
  insertEnvelope,
  selectEnvelope,
  shareMasterEnvelope,
  toStored,
} from '../envelopes/rows.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import { loadActive, touch } from '../sessions/active-device.ts';
import type { FreshProof } from '../sessions/fresh-proof.ts';
import type { Act, Acted } from '../audit-trail/act.ts';
import type { RequestEvent } from '../audit-trail/event.ts';
import { maxDevices, type DeviceEnvelope, type DeviceEnvelopeView } from './schema.ts';
import type { SessionBinding } from '../sessions/session-binding.ts';

type Stored = z.input<typeof DeviceEnvelope>;
type View = z.input<typeof DeviceEnvelopeView>;

interface NewDevice {
  readonly deviceId: string;
  readonly encryptedInfo?: string | undefined;
  readonly form: KeyForm;
  /** Decides whether the envelope will count as another way to the master key. */
  readonly proof: FreshProof;
}

interface DeviceEnvelopesOptions {
  readonly db: Database;
  readonly cipher: RowCipher;
  readonly act: Act;
  readonly toEnvelope: ToEnvelope;
  readonly binding: SessionBinding;
  readonly clock: Clock;
}

export type DeviceEnvelopes = ReturnType<typeof createDeviceEnvelopes>;

/** Creates the service that stores the master key wrapped for each device of a user. */
export function createDeviceEnvelopes(options: DeviceEnvelopesOptions) {
  const { db, cipher, act, toEnvelope, binding, clock } = options;

  async function register(
    tx: Tx,
    caller: Caller,
    { deviceId, encryptedInfo, proof }: Omit<NewDevice, 'form'>,
    encryptedEnvelope: string,
  ): Promise<Acted<Stored>> {
    // A session of another issuer outlives the revocation of its device, but must not register
    // another device.
    const bound = await binding.find(tx, caller);
    if (bound !== undefined) await loadActive(tx, caller, bound);
    // Make a concurrent rekey wait: otherwise the rekey would leave the new envelope with the old
    // master key.
    await shareMasterEnvelope(tx, caller);
    await insertDevice(tx, caller, { deviceId, encryptedInfo }, clock());
    const name = { kind: 'DEVICE', deviceId } as const;
    const isProven = await proof.isGiven(tx);
    const row = await insertEnvelope(tx, cipher, caller, name, {
      encryptedEnvelope,
      isProven,
    });
    await binding.bind(tx, caller, deviceId);
    const registered: RequestEvent = {
      action: 'device.registered',
      resource: { type: 'device', id: deviceId },
      data: { envelopeId: row.id, bySession: caller.sessionId ?? null },
    };
    return {
      answer: { ...toStored(cipher, row), deviceId },
      events: [registered, envelopeEvent('envelope.created', row)],
    };
  }

  return {
    /**
     * Registers a device with its envelope, and binds the caller's session to it unless the session
     * is bound already. Throws as `toEnvelope` does, device_blacklisted if this device or the
     * session's device is revoked, envelope_exists, quota_exceeded, or invalid_token if the session
     * ended meanwhile.
     */
    async create(request: ServiceRequest, { form, ...device }: NewDevice): Promise<Stored> {
      const encryptedEnvelope = toEnvelope(form);
      return act(request, (tx) => register(tx, request.caller, device, encryptedEnvelope));
    },

    /**
     * Returns the envelope of a device. If the caller has an unbound session of another issuer,
     * binds the session to the device; sessions of the vault are bound at login or registration.
     * Throws not_found or device_blacklisted.
     */
    get: ({ caller }: ServiceRequest, deviceId: string): Promise<View> =>
      db.asUser(caller, async (tx) => {
        const device = await loadActive(tx, caller, deviceId, 'not_found');
        const name = { kind: 'DEVICE', deviceId } as const;
        const row = await selectEnvelope(tx, caller, name).executeTakeFirst();
        if (row === undefined) throw new AppError('not_found');
        const lastUsedAt = await touch(tx, caller, device, clock());
        if (binding.isForeign(caller)) await binding.bind(tx, caller, deviceId);
        return { ...toStored(cipher, row), deviceId, lastUsedAt, createdAt: row.created_at };
      }),
  };
}

/**
 * Adds a device. Throws envelope_exists if the device is already registered, device_blacklisted if
 * the device is revoked, or quota_exceeded.
 */
async function insertDevice(
  tx: Tx,
  { userId, tenantId }: Caller,
  { deviceId, encryptedInfo }: Pick<NewDevice, 'deviceId' | 'encryptedInfo'>,
  now: Date,
): Promise<void> {
  // Serialise the registrations of one user, so that each registration counts all earlier devices.
  takesLock(tx, 'device count');
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
    .select((eb) => eb.fn.count<number>('device_id').as('count'))
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('revoked_at', 'is', null)
    .executeTakeFirstOrThrow();
  if (count > maxDevices) {
    throw quotaExceeded([{ counter: 'activeDevices', used: maxDevices, limit: maxDevices }]);
  }
}
