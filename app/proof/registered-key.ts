import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import type { Selectable } from 'kysely';
import type { SigningPurpose } from '../../signer/protocol/protocol.ts';
import type { Schema } from '../db/schema.ts';
import type { KeyState } from '../db/tables/keys.ts';

/** A public key the HSM signs, signed or may come to sign with. */
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
  /** The audit entry that tells of the key. */
  readonly recordId: string | null;
  readonly key: KeyObject;
}

/** `known` is the same key as read before: parsing costs more than reading. */
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

/** SHA-256 of the SPKI DER, hex: what is published elsewhere and compared. */
export function fingerprintOf(publicKey: string): string {
  return createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('hex');
}
