import type { z } from 'zod';
import { storeCredential } from '../../accounts/credentials.ts';
import type { AuditEvent } from '../../trail/event.ts';
import type { Owner, Tx } from '../../db/database.ts';
import { assertEnvelope } from '../../envelopes/key-form.ts';
import { envelopeEvent } from '../../envelopes/recording.ts';
import {
  insertEnvelope,
  replaceEnvelope,
  selectEnvelope,
  type EnvelopeName,
} from '../../envelopes/rows.ts';
import { AppError } from '../../errors/app-error.ts';
import type { CredentialsChange } from './schema.ts';

type Change = z.output<typeof CredentialsChange>;

/** What a new master key brings with it. */
type Rekey = Required<Pick<Change, 'recovery' | 'devices' | 'keyring'>>;

/** Undefined where the master key stays. Throws rekey_incomplete for a part of one, or invalid_key_length. */
export function parseRekey({ recovery, devices, keyring }: Change): Rekey | undefined {
  if (recovery === undefined && devices === undefined && keyring === undefined) return undefined;
  if (recovery === undefined || devices === undefined || keyring === undefined) {
    throw new AppError('rekey_incomplete');
  }
  for (const { encryptedEnvelope } of [recovery, ...devices]) assertEnvelope(encryptedEnvelope);
  return { recovery, devices, keyring };
}

interface Wrapped {
  readonly masterEnvelope: string;
  readonly rekey: Rekey | undefined;
}

/**
 * Stores the envelopes of a change in the service's transaction, in which the account is locked.
 * Answers what is to be recorded, in the order of the resources. Throws rekey_incomplete unless the
 * devices are exactly the active ones.
 */
export async function storeEnvelopes(
  tx: Tx,
  owner: Owner,
  { masterEnvelope, rekey }: Wrapped,
  requestId: string,
  now: Date,
): Promise<AuditEvent[]> {
  const events: AuditEvent[] = [];
  const store = async (name: EnvelopeName, encryptedEnvelope: string, keyring?: string) => {
    const content = { encryptedEnvelope, keyring };
    const present = await selectEnvelope(tx, owner, name).forUpdate().executeTakeFirst();
    const row = await (present === undefined
      ? insertEnvelope(tx, owner, name, content)
      : replaceEnvelope(tx, present, content, now));
    const action = present === undefined ? 'envelope.created' : 'envelope.replaced';
    events.push(envelopeEvent(action, row, owner, requestId));
  };
  await store({ kind: 'MASTER' }, masterEnvelope, rekey?.keyring);
  if (rekey !== undefined) {
    const { recovery, devices } = rekey;
    await assertActiveDevices(tx, owner, devices);
    for (const { deviceId, encryptedEnvelope } of devices) {
      await store({ kind: 'DEVICE', deviceId }, encryptedEnvelope);
    }
    await store({ kind: 'RECOVERY' }, recovery.encryptedEnvelope);
    const credential = { salt: recovery.recoverySalt, verifier: recovery.recoveryVerifier };
    await storeCredential(tx, owner, 'recovery', credential, now);
  }
  return events.sort((a, b) => (a.resource.id < b.resource.id ? -1 : 1));
}

/** Locks them: none is revoked or added until the transaction ends. */
async function assertActiveDevices(
  tx: Tx,
  { userId, tenantId }: Owner,
  devices: Rekey['devices'],
): Promise<void> {
  const active = await tx
    .selectFrom('devices')
    .select('device_id')
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('revoked_at', 'is', null)
    .orderBy('device_id')
    .forUpdate()
    .execute();
  const named = new Set(devices.map(({ deviceId }) => deviceId));
  const isComplete = active.every(({ device_id: id }) => named.has(id));
  if (!isComplete || active.length !== named.size) throw new AppError('rekey_incomplete');
}
