import type { Selectable } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Owner, Tx } from '../db/database.ts';
import { violatesUnique } from '../db/pg-error.ts';
import type { Schema } from '../db/schema.ts';
import { AppError } from '../errors/app-error.ts';

export type EnvelopeRow = Selectable<Schema['key_envelopes']>;

/** One of a user's envelopes: of a kind there is one, or one of each device. */
export type EnvelopeName =
  | { readonly kind: 'MASTER' | 'RECOVERY' }
  | { readonly kind: 'DEVICE'; readonly deviceId: string };

/**
 * Locks are taken in one order wherever several are: account, master envelope, devices, other
 * envelopes, sessions, synchronised objects, audit entries.
 */
export function selectEnvelope(tx: Tx, { userId, tenantId }: Owner, name: EnvelopeName) {
  const query = tx
    .selectFrom('key_envelopes')
    .selectAll()
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('kind', '=', name.kind);
  return name.kind === 'DEVICE' ? query.where('device_id', '=', name.deviceId) : query;
}

/** Throws envelope_exists. */
export async function insertEnvelope(
  tx: Tx,
  { userId, tenantId }: Owner,
  name: EnvelopeName,
  content: EnvelopeContent,
): Promise<EnvelopeRow> {
  try {
    return await tx
      .insertInto('key_envelopes')
      .values({
        id: uuidv7(),
        user_id: userId,
        tenant_id: tenantId,
        kind: name.kind,
        device_id: name.kind === 'DEVICE' ? name.deviceId : null,
        encrypted_envelope: content.encryptedEnvelope,
        keyring: content.keyring ?? null,
      })
      .returningAll()
      .executeTakeFirstOrThrow();
  } catch (error) {
    const exists =
      violatesUnique(error, 'key_envelopes_kind') || violatesUnique(error, 'key_envelopes_device');
    throw exists ? new AppError('envelope_exists', { cause: error }) : error;
  }
}

/** The next version of an envelope that is locked. */
export function replaceEnvelope(
  tx: Tx,
  { id, version }: EnvelopeRow,
  { encryptedEnvelope, keyring }: EnvelopeContent,
  now: Date,
): Promise<EnvelopeRow> {
  return tx
    .updateTable('key_envelopes')
    .set({
      encrypted_envelope: encryptedEnvelope,
      version: version + 1,
      replaced_at: now,
      ...(keyring === undefined ? {} : { keyring }),
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

interface EnvelopeContent {
  /** Base64 of 40 bytes. */
  readonly encryptedEnvelope: string;
  /** Left out, it stays as it is. */
  readonly keyring?: string | undefined;
}

const algorithm = 'AES-256-KW' as const;

export function toStored({ id, encrypted_envelope: encryptedEnvelope, version }: EnvelopeRow) {
  return { id, encryptedEnvelope, algorithm, version };
}
