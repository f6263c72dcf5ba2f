import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import type { Selectable } from 'kysely';
import type { SigningPurpose } from '../../signer/protocol/protocol.ts';
import type { Schema } from '../db/schema.ts';
import type { KeyState } from '../db/tables/keys.ts';

/** The columns of a registered key. */
export const keyColumns = [
  'key_id',
  'purpose',
  'algorithm',
  'public_key',
  'generation',
  'imported',
  'state',
  'registered_at',
  'activated_at',
  'retired_at',
  'record_id',
  'compromised_since',
  'compromise_id',
] as const;

/** A public signing key of the HSM in any state. */
export interface RegisteredKey {
  /** SHA-256 of the SPKI DER, first 16 bytes, hex. */
  readonly keyId: string;
  readonly purpose: SigningPurpose;
  readonly algorithm: string;
  /** SPKI DER, base64. */
  readonly publicKey: string;
  readonly generation: number;
  /** Whether the HSM did not generate the key, or the key may have left it. */
  readonly imported: boolean;
  readonly state: KeyState;
  readonly registeredAt: Date;
  readonly activatedAt: Date | null;
  readonly retiredAt: Date | null;
  /** The instant since which somebody else may have the key; null unless it is compromised. */
  readonly compromisedSince: Date | null;
  /** Id of the audit entry that records the key. */
  readonly recordId: string | null;
  /** Id of the audit entry that records the compromise. */
  readonly compromiseId: string | null;
  readonly key: KeyObject;
}

/**
 * Converts a row. `known` is the same key from an earlier read, so that the public key is parsed
 * only once.
 */
export function toRegisteredKey(
  row: Selectable<Schema['signing_keys']>,
  known: RegisteredKey | undefined,
): RegisteredKey {
  return {
    keyId: row.key_id,
    purpose: row.purpose,
    algorithm: row.algorithm,
    publicKey: row.public_key,
    generation: row.generation,
    imported: row.imported,
    state: row.state,
    registeredAt: row.registered_at,
    activatedAt: row.activated_at,
    retiredAt: row.retired_at,
    compromisedSince: row.compromised_since,
    recordId: row.record_id,
    compromiseId: row.compromise_id,
    key: known?.key ?? parseKey(row.public_key),
  };
}

function parseKey(publicKey: string): KeyObject {
  return createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
}

/**
 * Returns the SHA-256 of the SPKI DER in hex, to compare with a fingerprint published elsewhere.
 */
export function fingerprintOf(publicKey: string): string {
  return createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('hex');
}
