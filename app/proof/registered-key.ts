import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import type { Selectable } from 'kysely';
import type { SigningPurpose } from '../../signer/protocol/protocol.ts';
import type { Schema } from '../db/schema.ts';
import type { KeyState } from '../db/tables/keys.ts';

/** A public signing key of the HSM: active, retired, or not activated yet. */
export interface RegisteredKey {
  /** SHA-256 of the SPKI DER, first 16 bytes, hex. */
  readonly keyId: string;
  readonly purpose: SigningPurpose;
  readonly algorithm: string;
  /** SPKI DER, base64. */
  readonly publicKey: string;
  readonly generation: number;
  readonly state: KeyState;
  readonly registeredAt: Date;
  readonly activatedAt: Date | null;
  readonly retiredAt: Date | null;
  /** Id of the audit entry that records the key. */
  readonly recordId: string | null;
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
    state: row.state,
    registeredAt: row.registered_at,
    activatedAt: row.activated_at,
    retiredAt: row.retired_at,
    recordId: row.record_id,
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
