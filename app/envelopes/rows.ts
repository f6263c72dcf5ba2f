import type { Selectable } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Owner, Tx } from '../db/database.ts';
import { takesLock, type LockKind } from '../db/lock-order.ts';
import { violatesUnique } from '../db/pg-error.ts';
import type { Schema } from '../db/schema.ts';
import type { RowCipher, RowName } from '../encryption/row-cipher.ts';
import { AppError } from '../errors/app-error.ts';

/** A stored envelope. `wrappedKeyOf` returns its wrapped key, which may be encrypted. */
export type EnvelopeRow = Selectable<Schema['key_envelopes']>;

const envelopeColumns = [
  'id',
  'user_id',
  'tenant_id',
  'kind',
  'device_id',
  'key_generation',
  'encrypted_envelope',
  'version',
  'keyring',
  'proven',
  'created_at',
  'replaced_at',
] as const;

/**
 * Names one envelope of a user. A user has at most one MASTER envelope, one RECOVERY envelope, and
 * one DEVICE envelope for each device.
 */
export type EnvelopeName =
  | { readonly kind: 'MASTER' | 'RECOVERY' }
  | { readonly kind: 'DEVICE'; readonly deviceId: string };

/** Selects an envelope of a user. */
export function selectEnvelope(tx: Tx, { userId, tenantId }: Owner, name: EnvelopeName) {
  const query = tx
    .selectFrom('key_envelopes')
    .select(envelopeColumns)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('kind', '=', name.kind);
  return name.kind === 'DEVICE' ? query.where('device_id', '=', name.deviceId) : query;
}

/**
 * Locks an envelope's row for the rest of `tx`, and returns the envelope. Returns undefined if the
 * user has no such envelope.
 */
export async function lockEnvelope(
  tx: Tx,
  owner: Owner,
  name: EnvelopeName,
): Promise<EnvelopeRow | undefined> {
  takesLock(tx, lockKindOf(name));
  return selectEnvelope(tx, owner, name).forUpdate().executeTakeFirst();
}

/** Locks the row of the master envelope, if it exists, against replacement for the rest of `tx`. */
export async function shareMasterEnvelope(tx: Tx, owner: Owner): Promise<void> {
  const name = { kind: 'MASTER' } as const;
  takesLock(tx, lockKindOf(name));
  await selectEnvelope(tx, owner, name).forShare().execute();
}

function lockKindOf({ kind }: EnvelopeName): LockKind {
  return kind === 'MASTER' ? 'master envelope' : 'envelope';
}

/** Adds an envelope. Throws envelope_exists. */
export async function insertEnvelope(
  tx: Tx,
  cipher: RowCipher,
  { userId, tenantId }: Owner,
  name: EnvelopeName,
  content: EnvelopeContent,
): Promise<EnvelopeRow> {
  const id = uuidv7();
  const envelope = { id, user_id: userId, kind: name.kind };
  try {
    return await tx
      .insertInto('key_envelopes')
      .values({
        ...envelope,
        ...toColumns(cipher, envelope, content.encryptedEnvelope),
        tenant_id: tenantId,
        device_id: name.kind === 'DEVICE' ? name.deviceId : null,
        keyring: content.keyring ?? null,
        proven: content.isProven,
      })
      .returning(envelopeColumns)
      .executeTakeFirstOrThrow();
  } catch (error) {
    const exists =
      violatesUnique(error, 'key_envelopes_kind') || violatesUnique(error, 'key_envelopes_device');
    throw exists ? new AppError('envelope_exists', { cause: error }) : error;
  }
}

/**
 * Replaces a locked envelope by its next version. The caller must have a fresh proof of the user's
 * identity.
 */
export function replaceEnvelope(
  tx: Tx,
  cipher: RowCipher,
  { id, user_id, tenant_id, kind, version }: EnvelopeRow,
  { encryptedEnvelope, keyring }: Omit<EnvelopeContent, 'isProven'>,
  now: Date,
): Promise<EnvelopeRow> {
  return tx
    .updateTable('key_envelopes')
    .set({
      ...toColumns(cipher, { id, user_id, kind }, encryptedEnvelope),
      version: version + 1,
      replaced_at: now,
      proven: true,
      ...(keyring === undefined ? {} : { keyring }),
    })
    .where('id', '=', id)
    .where('user_id', '=', user_id)
    .where('tenant_id', '=', tenant_id)
    .returning(envelopeColumns)
    .executeTakeFirstOrThrow();
}

interface EnvelopeContent {
  /** The wrapped master key: base64 of 40 bytes. */
  readonly encryptedEnvelope: string;
  /**
   * Earlier master keys, wrapped under the present master key. If undefined, the stored keyring
   * stays unchanged.
   */
  readonly keyring?: string | undefined;
  /** Whether the envelope comes with a fresh proof of the user's identity. */
  readonly isProven: boolean;
}

const algorithm = 'AES-256-KW' as const;

/** Returns an envelope as the API shows it after a change. */
export function toStored(cipher: RowCipher, row: EnvelopeRow) {
  const { id, version } = row;
  return { id, encryptedEnvelope: wrappedKeyOf(cipher, row), algorithm, version };
}

type Named = Pick<EnvelopeRow, 'id' | 'user_id' | 'kind'>;

/** Names the row of a master envelope for the cipher. */
export function envelopeRow({ id, user_id: userId }: Pick<Named, 'id' | 'user_id'>): RowName {
  return { table: 'key_envelopes', key: [id, userId] };
}

/** Returns the wrapped master key: base64 of 40 bytes. */
export function wrappedKeyOf(
  cipher: RowCipher,
  { key_generation: generation, encrypted_envelope: wrappedKey, ...row }: EnvelopeRow,
): string {
  return cipher.decrypt(envelopeRow(row), { generation, values: { wrappedKey } }).wrappedKey;
}

/**
 * Returns the columns of a wrapped key. A master envelope is encrypted, since its wrapping key
 * hangs on a password; the other envelopes open without the HSM.
 */
function toColumns(cipher: RowCipher, envelope: Named, wrappedKey: string) {
  if (envelope.kind !== 'MASTER') return { key_generation: null, encrypted_envelope: wrappedKey };
  const { generation, values } = cipher.encrypt(envelopeRow(envelope), { wrappedKey });
  return { key_generation: generation, encrypted_envelope: values.wrappedKey };
}

/** Lists the envelopes of a user, each a way to the master key. */
export function listWays(tx: Tx, { userId, tenantId }: Owner) {
  return tx
    .selectFrom('key_envelopes')
    .select(['kind', 'device_id as deviceId', 'proven as isProven'])
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .execute();
}

/**
 * Removes the envelope of a device. Resolves with the removed envelope, or undefined if the device
 * has no envelope.
 */
export function removeDeviceEnvelope(
  tx: Tx,
  { userId, tenantId }: Owner,
  deviceId: string,
): Promise<EnvelopeRow | undefined> {
  return tx
    .deleteFrom('key_envelopes')
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('device_id', '=', deviceId)
    .returning(envelopeColumns)
    .executeTakeFirst();
}
