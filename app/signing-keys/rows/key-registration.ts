import type { Selectable } from 'kysely';
import type { PublicKey } from '../../../signer/protocol/protocol.ts';
import { lockName } from '../../db/advisory-lock.ts';
import type { Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
import type { Schema } from '../../db/schema.ts';
import { fingerprintOf, keyColumns } from '../../proof/registered-key.ts';
import { nobody, type AuditEvent } from '../../audit-trail/event.ts';
import type { AuditTrail } from '../../audit-trail/audit-trail.ts';
import type { SignerClock } from './signer-clock.ts';

type KeyRow = Selectable<Schema['signing_keys']>;

/** The request that created a key. Both members are null if no request did. */
interface KeyOrigin {
  /** The name of the internal API key that sent the request. */
  readonly requestedBy: string | null;
  readonly requestId: string | null;
}

/** A key that a request has just created in the token. */
export interface MadeKey extends KeyOrigin {
  readonly keyId: string;
}

/** The keys of a token. */
interface FoundKeys {
  readonly listed: readonly PublicKey[];
  /** The key among them that a request has just created. */
  readonly made: MadeKey | undefined;
  /** The clock of the signer, which dates seals as well. */
  readonly clock: SignerClock;
}

/** The origin of a key that a process found in the token. */
const foundInToken: KeyOrigin = { requestedBy: null, requestId: null };

/** Actor and owner of every event of a signing key: signing keys belong to no user. */
export const byKeys = { actor: { type: 'system', id: 'keys' }, owner: nobody } as const;

/**
 * Registers the keys of the token that are not registered yet. Each gets an audit entry that the
 * active audit key signs, so that an earlier key vouches for a new one. If a purpose has no
 * registered key, its newest key becomes active at once; in a new vault the first audit key signs
 * these entries, and no key vouches for that first key. Throws if the token and the registry hold
 * different keys for the same purpose and generation.
 */
export async function registerKeys(
  tx: Tx,
  audit: AuditTrail,
  { listed, made, clock }: FoundKeys,
): Promise<void> {
  // With this lock, processes that found the same new key register it one after the other.
  takesLock(tx, 'signing keys');
  await lockName(tx, 'signing_keys');
  const known = await tx
    .selectFrom('signing_keys')
    .select(['key_id', 'purpose', 'generation'])
    .execute();
  const knownIds = new Set(known.map(({ key_id: keyId }) => keyId));
  // A contested key shares its generation with another key, and may still be destroyed by the
  // process that created it, so it is not registered yet.
  const missing = listed
    .filter(({ keyId, contested }) => !contested && !knownIds.has(keyId))
    .toSorted((a, b) => a.generation - b.generation);
  for (const { purpose, generation } of missing) {
    if (known.some((key) => key.purpose === purpose && key.generation === generation)) {
      throw new Error(`the token holds another key ${purpose}-${generation} than the registry`);
    }
  }
  const established = new Set(known.map(({ purpose }) => purpose));
  const at = clock();
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
        imported: key.imported,
        state,
        activated_at: state === 'ACTIVE' ? at : null,
        retired_at: state === 'RETIRED' ? at : null,
      })
      .execute();
  }
  await recordKeys(tx, audit, made);
}

function firstState({ purpose, generation }: PublicKey, all: readonly PublicKey[]) {
  const isNewest = all.every((key) => key.purpose !== purpose || key.generation <= generation);
  return isNewest ? 'ACTIVE' : 'RETIRED';
}

/** Appends an audit entry for every registered key that has no entry yet. */
async function recordKeys(tx: Tx, audit: AuditTrail, made: MadeKey | undefined): Promise<void> {
  const keys = await tx
    .selectFrom('signing_keys')
    .select(keyColumns)
    .where('record_id', 'is', null)
    .orderBy('key_id')
    .execute();
  for (const key of keys) {
    const origin = key.key_id === made?.keyId ? made : foundInToken;
    const recordId = await audit.append(tx, created(key, origin));
    await tx
      .updateTable('signing_keys')
      .set({ record_id: recordId })
      .where('key_id', '=', key.key_id)
      .execute();
  }
}

function created(key: KeyRow, { requestedBy, requestId }: KeyOrigin): AuditEvent<'key.created'> {
  return {
    ...byKeys,
    action: 'key.created',
    resource: { type: 'key', id: key.key_id },
    requestId,
    data: {
      requestedBy,
      purpose: key.purpose,
      generation: key.generation,
      algorithm: key.algorithm,
      publicKey: key.public_key,
      fingerprint: fingerprintOf(key.public_key),
      imported: key.imported,
      state: key.state,
    },
  };
}
