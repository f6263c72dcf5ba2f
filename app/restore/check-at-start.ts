import type { SignerClient } from '../../signer/protocol/client.ts';
import type { PublicKey } from '../../signer/protocol/protocol.ts';
import type { Clock } from '../async/clock.ts';
import type { Database } from '../db/database.ts';
import { keyColumns, toRegisteredKey, type RegisteredKey } from '../proof/registered-key.ts';
import { compareBackups, type Comparison } from './high-water-marks/comparison.ts';
import { countSealed, isSealed, listKeyIds } from './high-water-marks/log-state.ts';
import type { MarkObjects } from './high-water-marks/mark-objects.ts';
import type { MarkRecord } from './high-water-marks/mark-record.ts';
import { findNewestMark, type FoundMarks } from './high-water-marks/newest-mark.ts';

/** The result of the check at start, with the facts that the log and the audit entry state. */
export interface Checked extends Comparison {
  readonly found: FoundMarks;
  /** The id of the newest high-water mark that the database knew before the check, or noMark. */
  readonly newestMark: string;
  /** The number of sealed entries in the database. */
  readonly sealed: number;
  /** Says which key shows that the token is another vault's; undefined if none does. */
  readonly wrongToken: string | undefined;
}

interface CheckOptions {
  readonly db: Database;
  readonly signer: Pick<SignerClient, 'listKeys'>;
  readonly objects: MarkObjects;
  readonly record: MarkRecord;
  readonly clock: Clock;
}

/**
 * Compares database, HSM token and object store. Other replicas may seal entries during the check,
 * so each fact is read before the fact that must contain it: the fact that is read later can only
 * contain more. Throws StorageError, SignerUnavailable or database_unavailable if a backend is
 * unavailable.
 */
export async function checkMarks(options: CheckOptions): Promise<Checked> {
  const { db, signer, objects, record, clock } = options;
  const newestMark = await record.newest();
  const registered = await loadKeys(db);
  const listed = await signer.listKeys();
  const keys = new Map(listed.map((key) => [key.keyId, toUnregistered(key, clock())]));
  for (const key of registered) keys.set(key.keyId, key);
  const found = await findNewestMark(objects, keys);
  const newestEntryId = found.mark?.newestEntryId ?? null;
  const log = await db.asService(async (tx) => ({
    sealed: await countSealed(tx),
    hasNewestEntry: newestEntryId === null || (await isSealed(tx, newestEntryId)),
    keyIds: await listKeyIds(tx),
  }));
  const comparison = compareBackups({
    database: { newestMark, ...log, keyIds: new Set(log.keyIds) },
    token: { keyIds: new Set(listed.map(({ keyId }) => keyId)), expected: registered },
    objectStore: found,
  });
  const wrongToken = findWrongToken(registered, listed);
  return { ...comparison, found, newestMark, sealed: log.sealed, wrongToken };
}

/**
 * Finds a key in the token that has the purpose and the generation of another key of the vault. No
 * backup of the vault's token has one, since no generation is used twice.
 */
function findWrongToken(
  registered: readonly RegisteredKey[],
  listed: readonly PublicKey[],
): string | undefined {
  for (const { keyId, purpose, generation } of listed) {
    const own = registered.find(
      (key) => key.purpose === purpose && key.generation === generation && key.keyId !== keyId,
    );
    if (own === undefined) continue;
    return (
      `it holds the key ${keyId} as generation ${generation} of the ${purpose} key, ` +
      `which is ${own.keyId} in the database`
    );
  }
  return undefined;
}

async function loadKeys(db: Database): Promise<RegisteredKey[]> {
  const rows = await db.asService((tx) =>
    tx.selectFrom('signing_keys').select(keyColumns).execute(),
  );
  return rows.map((row) => toRegisteredKey(row, undefined));
}

/**
 * Describes a key that the HSM token holds but that the database, possibly restored from a backup,
 * does not contain.
 */
function toUnregistered(key: PublicKey, now: Date): RegisteredKey {
  const row = {
    key_id: key.keyId,
    purpose: key.purpose,
    algorithm: key.algorithm,
    public_key: key.publicKey,
    generation: key.generation,
    imported: key.imported,
    state: 'CREATED' as const,
    registered_at: now,
    activated_at: null,
    retired_at: null,
    compromised_since: null,
    compromise_id: null,
    record_id: null,
  };
  return toRegisteredKey(row, undefined);
}
