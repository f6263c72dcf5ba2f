import type { AuditProof } from '../proof/proof.ts';
import type { Database, Tx } from '../db/database.ts';
import { fingerprintOf, type RegisteredKey } from '../proof/registered-key.ts';
import type { KeyRegistry } from './registry.ts';

/** A key as anyone may know it. */
interface PublishedKey extends Omit<RegisteredKey, 'key' | 'recordId'> {
  /** SHA-256 of the SPKI DER, hex: what is published elsewhere and compared. */
  readonly fingerprint: string;
  /** Proves the entry that tells of the key; null until that is signed. */
  readonly record: AuditProof | null;
  /** The other key that signed the record; null too where only the key itself did. */
  readonly vouchedBy: string | null;
}

export interface PublishedKeys {
  /** All of the registry, oldest generation first. */
  list(): Promise<readonly PublishedKey[]>;
  /** Undefined for a key the vault never had. */
  find(keyId: string): Promise<PublishedKey | undefined>;
}

interface PublishedKeysOptions {
  readonly db: Database;
  readonly registry: KeyRegistry;
}

export function createPublishedKeys({ db, registry }: PublishedKeysOptions): PublishedKeys {
  /** Signed once and for good: each is read once. */
  const records = new Map<string, AuditProof>();

  async function readRecords(keys: readonly RegisteredKey[]): Promise<void> {
    const missing = keys.flatMap(({ recordId }) =>
      recordId === null || records.has(recordId) ? [] : [recordId],
    );
    if (missing.length === 0) return;
    for (const entry of await db.asService((tx) => findSigned(tx, missing))) {
      const publicKey = keys.find(({ keyId }) => keyId === entry.hsmKeyId)?.publicKey;
      // Another process registered the key that signed a moment ago: it is there next time.
      if (publicKey !== undefined) records.set(entry.id, { ...entry, publicKey });
    }
  }

  function publish({ key: _key, recordId, ...key }: RegisteredKey): PublishedKey {
    const record = recordId === null ? undefined : records.get(recordId);
    return {
      ...key,
      fingerprint: fingerprintOf(key.publicKey),
      record: record ?? null,
      vouchedBy: record === undefined || record.hsmKeyId === key.keyId ? null : record.hsmKeyId,
    };
  }

  async function list(): Promise<readonly PublishedKey[]> {
    const keys = await registry.list();
    await readRecords(keys);
    return keys.map(publish);
  }

  return {
    list,
    async find(keyId) {
      return (await list()).find((key) => key.keyId === keyId);
    },
  };
}

async function findSigned(
  tx: Tx,
  ids: readonly string[],
): Promise<Omit<AuditProof, 'publicKey'>[]> {
  const entries = await tx
    .selectFrom('audit_entries')
    .select(['id', 'canonical', 'hash', 'signature', 'key_id'])
    .where('id', 'in', ids)
    .where('state', '=', 'SEALED')
    .execute();
  return entries.flatMap(({ id, canonical, hash, signature, key_id: hsmKeyId }) =>
    canonical === null || hash === null || signature === null || hsmKeyId === null
      ? []
      : [{ id, entryCanonical: canonical, entryHash: hash, hsmSignature: signature, hsmKeyId }],
  );
}
