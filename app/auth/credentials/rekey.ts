import type { z } from 'zod';
import { storeRecovery, type Credential } from '../../accounts/credential-rows.ts';
import type { Owner, Tx } from '../../db/database.ts';
import type { ReplacedKind } from '../../db/tables/envelopes.ts';
import type { RowCipher } from '../../encryption/row-cipher.ts';
import { assertEnvelope } from '../../envelopes/key-form.ts';
import { envelopeEvent } from '../../envelopes/recording.ts';
import {
  insertEnvelope,
  lockEnvelope,
  replaceEnvelope,
  type EnvelopeName,
} from '../../envelopes/rows.ts';
import {
  identityChanged,
  insertIdentity,
  lockIdentity,
  publicIdentityOf,
  updateIdentity,
} from '../../identities/identity-rows.ts';
import { assertProven } from '../../identities/identity-signatures.ts';
import { AppError } from '../../errors/app-error.ts';
import { forgetReplaced } from '../../replaced-keys/rows/replaced-keys.ts';
import type { RequestEvent } from '../../audit-trail/event.ts';
import type { CredentialsChange } from './schema.ts';
import { lockActiveDevices } from '../../sessions/active-device.ts';

type Change = z.output<typeof CredentialsChange>;

/** The parts that a change must contain to set a new master key. */
export type Rekey = Required<Pick<Change, 'recovery' | 'devices' | 'keyring'>> &
  Pick<Change, 'identity'>;

/**
 * Returns the parts of a change that set a new master key, or undefined if the change keeps the
 * master key. Throws rekey_incomplete if only some of these parts are present, or
 * invalid_key_length.
 */
export function parseRekey(change: Change): Rekey | undefined {
  const { recovery, devices, keyring, identity } = change;
  const parts = [recovery, devices, keyring, identity];
  if (parts.every((part) => part === undefined)) return undefined;
  if (recovery === undefined || devices === undefined || keyring === undefined) {
    throw new AppError('rekey_incomplete');
  }
  for (const { encryptedEnvelope } of [recovery, ...devices]) assertEnvelope(encryptedEnvelope);
  return { recovery, devices, keyring, identity };
}

/** Returns the kinds of keys that a change makes useless. */
function replacedBy(rekey: Rekey | undefined): readonly ReplacedKind[] {
  if (rekey === undefined) return ['MASTER'];
  return rekey.identity === undefined ? ['MASTER', 'RECOVERY'] : ['MASTER', 'RECOVERY', 'SHARING'];
}

/** Returns the credential for recovery logins that a rekey contains. */
function credentialOf({ recovery }: Rekey): Credential {
  return { salt: recovery.recoverySalt, verifier: recovery.recoveryVerifier };
}

interface Wrapped {
  readonly masterEnvelope: string;
  readonly rekey: Rekey | undefined;
}

/**
 * Stores the envelopes of a change and, if the change has a rekey, the credential for recovery
 * logins. Nothing that the change replaces can be restored, and no earlier envelope of the same
 * kind. `tx` must be a transaction of the service login that has locked the account's row. Resolves
 * with the audit events of the envelopes. Throws rekey_incomplete unless the rekey names exactly
 * the user's active devices.
 */
export async function storeEnvelopes(
  tx: Tx,
  cipher: RowCipher,
  owner: Owner,
  { masterEnvelope, rekey }: Wrapped,
  now: Date,
): Promise<RequestEvent[]> {
  const events: RequestEvent[] = [];
  const store = async (name: EnvelopeName, encryptedEnvelope: string, keyring?: string) => {
    const content = { encryptedEnvelope, keyring };
    const present = await lockEnvelope(tx, owner, name);
    const row = await (present === undefined
      ? insertEnvelope(tx, cipher, owner, name, { ...content, isProven: true })
      : replaceEnvelope(tx, cipher, present, content, now));
    const action = present === undefined ? 'envelope.created' : 'envelope.replaced';
    events.push(envelopeEvent(action, row));
  };
  await store({ kind: 'MASTER' }, masterEnvelope, rekey?.keyring);
  if (rekey !== undefined) {
    const { recovery, devices } = rekey;
    await assertActiveDevices(tx, owner, devices);
    for (const { deviceId, encryptedEnvelope } of devices) {
      await store({ kind: 'DEVICE', deviceId }, encryptedEnvelope);
    }
    await store({ kind: 'RECOVERY' }, recovery.encryptedEnvelope);
    await storeRecovery(tx, owner, credentialOf(rekey), now);
  }
  await forgetReplaced(tx, owner, replacedBy(rekey));
  return events;
}

/**
 * Stores the new identity of a rekey, if it has one. The former cannot be restored: whoever knows
 * the former master key knows it too. Resolves with the audit event. `tx` must hold the lock of the
 * account's row. `issuer` is the vault's own name as an issuer. Throws identity_unproven.
 */
export async function storeIdentity(
  tx: Tx,
  { issuer, ...owner }: Owner & { readonly issuer: string },
  { identity }: Rekey,
  now: Date,
): Promise<RequestEvent[]> {
  if (identity === undefined) return [];
  const present = await lockIdentity(tx, owner);
  const previous = publicIdentityOf(present);
  const publication = { issuer, owner: owner.userId, identity, previous };
  assertProven(publication, identity, 'identity');
  const row = await (present === undefined
    ? insertIdentity(tx, owner, identity, now)
    : updateIdentity(tx, present, identity, now));
  // A concurrent request stored the first identity.
  if (row === undefined) throw new AppError('precondition_failed');
  return [identityChanged(row, { previous, endorsement: identity.endorsement })];
}

/**
 * Locks the rows of the user's active devices until `tx` ends. Throws rekey_incomplete unless
 * `devices` names exactly the active devices.
 */
async function assertActiveDevices(tx: Tx, owner: Owner, devices: Rekey['devices']): Promise<void> {
  const active = await lockActiveDevices(tx, owner);
  const named = new Set(devices.map(({ deviceId }) => deviceId));
  const isComplete = active.every((deviceId) => named.has(deviceId));
  if (!isComplete || active.length !== named.size) throw new AppError('rekey_incomplete');
}
