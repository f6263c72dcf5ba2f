import { sql } from 'kysely';
import type { PublicKey } from '../../signer/protocol/protocol.ts';
import { nobody, type AuditEvent } from '../trail/event.ts';
import type { AuditTrail } from '../trail/trail.ts';
import { lockName } from '../db/advisory-lock.ts';
import type { Tx } from '../db/database.ts';
import { fingerprintOf } from '../proof/registered-key.ts';

/** Who a change of keys is attributed to; null where a process found the key in the token. */
export interface KeyActor {
  readonly requestedBy: string | null;
  readonly requestId: string | null;
}

/** A key that someone has just had made. */
export interface MadeKey extends KeyActor {
  readonly keyId: string;
}

const finder: KeyActor = { requestedBy: null, requestId: null };

/**
 * Registers those of the token's keys that are new, each with an entry that the active audit key
 * signs: so its predecessor vouches for a key. Of a purpose that has none yet the newest becomes
 * active at once, and its entry is signed by a first key that nothing can vouch for. Throws where
 * the token's keys are not those of this registry.
 */
export async function registerKeys(
  tx: Tx,
  audit: AuditTrail,
  listed: readonly PublicKey[],
  made: MadeKey | undefined,
): Promise<void> {
  // Two processes that found the same key register it one after the other.
  await lockName(tx, 'signing_keys');
  const known = await tx
    .selectFrom('signing_keys')
    .select(['key_id', 'purpose', 'generation'])
    .execute();
  const knownIds = new Set(known.map(({ key_id: keyId }) => keyId));
  // One whose number is contested may yet be taken back by who made it.
  const missing = listed
    .filter(({ keyId, contested }) => !contested && !knownIds.has(keyId))
    .toSorted((a, b) => a.generation - b.generation);
  for (const { purpose, generation } of missing) {
    if (known.some((key) => key.purpose === purpose && key.generation === generation)) {
      throw new Error(`the token holds another key ${purpose}-${generation} than the registry`);
    }
  }
  const established = new Set(known.map(({ purpose }) => purpose));
  for (const key of missing) {
    const state = established.has(key.purpose) ? 'CREATED' : firstState(key, missing);
    await tx
      .insertInto('signing_keys')
      .values({
        key_id: key.keyId,
        purpose: key.purpose,
        algorithm: key.algorithm,
        public_key: key.publicKey,
        generation: key.generation,
        state,
        activated_at: state === 'ACTIVE' ? sql`now()` : null,
        retired_at: state === 'RETIRED' ? sql`now()` : null,
      })
      .execute();
  }
  await recordKeys(tx, audit, made);
}

function firstState({ purpose, generation }: PublicKey, all: readonly PublicKey[]) {
  const isNewest = all.every((key) => key.purpose !== purpose || key.generation <= generation);
  return isNewest ? 'ACTIVE' : 'RETIRED';
}

/** An entry for every key that has none. */
async function recordKeys(tx: Tx, audit: AuditTrail, made: MadeKey | undefined): Promise<void> {
  const keys = await tx
    .selectFrom('signing_keys')
    .selectAll()
    .where('record_id', 'is', null)
    .orderBy('key_id')
    .execute();
  for (const key of keys) {
    const created = keyEvent('key.created', key.key_id, key.key_id === made?.keyId ? made : finder);
    const recordId = await audit.append(tx, {
      ...created,
      data: {
        ...created.data,
        purpose: key.purpose,
        generation: key.generation,
        algorithm: key.algorithm,
        publicKey: key.public_key,
        fingerprint: fingerprintOf(key.public_key),
        state: key.state,
      },
    });
    await tx
      .updateTable('signing_keys')
      .set({ record_id: recordId })
      .where('key_id', '=', key.key_id)
      .execute();
  }
}

/** What all events of keys have in common; a key belongs to no user. */
export function keyEvent(
  action: 'key.created' | 'key.activated' | 'key.retired',
  keyId: string,
  { requestedBy, requestId }: KeyActor,
): Omit<AuditEvent, 'data'> & { data: { requestedBy: string | null } } {
  return {
    action,
    actor: { type: 'system', id: 'keys' },
    owner: nobody,
    resource: { type: 'key', id: keyId },
    requestId,
    data: { requestedBy },
  };
}
