import type { Database, Tx } from '../db/database.ts';
import type { AuditProof } from '../proof/proof.ts';
import { composeSealedText } from '../proof/sealed-text.ts';
import { fingerprintOf, type RegisteredKey } from '../proof/registered-key.ts';
import type { KeyRegistry } from './registry.ts';

/** A signing key as it is published to everyone. */
interface PublishedKey extends Omit<RegisteredKey, 'key' | 'recordId' | 'compromiseId'> {
  /** SHA-256 of the SPKI DER, hex: compare it with a fingerprint that was published elsewhere. */
  readonly fingerprint: string;
  /** The audit proof of the entry that records the key; null until that entry is signed. */
  readonly record: AuditProof | null;
  /** The audit proof of the entry that records the compromise; null until that entry is signed. */
  readonly compromise: AuditProof | null;
  /**
   * The id of the other key that signed the record. Null until the record is signed, and if the key
   * signed its own record.
   */
  readonly vouchedBy: string | null;
}

interface PublishedKeysOptions {
  readonly db: Database;
  readonly registry: KeyRegistry;
}

export type PublishedKeys = ReturnType<typeof createPublishedKeys>;

/** Creates the service that publishes the signing keys with the audit proofs of their records. */
export function createPublishedKeys({ db, registry }: PublishedKeysOptions) {
  /** Cached for ever: a signed record never changes. */
  const records = new Map<string, AuditProof>();

  async function readRecords(keys: readonly RegisteredKey[]): Promise<void> {
    const missing = keys
      .flatMap(({ recordId, compromiseId }) => [recordId ?? [], compromiseId ?? []].flat())
      .filter((id) => !records.has(id));
    if (missing.length === 0) return;
    for (const entry of await db.asService((tx) => findSigned(tx, missing))) {
      const publicKey = keys.find(({ keyId }) => keyId === entry.hsmKeyId)?.publicKey;
      // The public key is undefined if another process has just registered the key that signed the
      // entry; the next call finds that key.
      if (publicKey !== undefined) records.set(entry.id, { ...entry, publicKey });
    }
  }

  function publish({ key: _key, recordId, compromiseId, ...key }: RegisteredKey): PublishedKey {
    const record = recordId === null ? undefined : records.get(recordId);
    const compromise = compromiseId === null ? undefined : records.get(compromiseId);
    return {
      ...key,
      fingerprint: fingerprintOf(key.publicKey),
      record: record ?? null,
      compromise: compromise ?? null,
      vouchedBy: record === undefined || record.hsmKeyId === key.keyId ? null : record.hsmKeyId,
    };
  }

  /** Returns every key of the registry, oldest generation first. */
  async function list(): Promise<PublishedKey[]> {
    const keys = await registry.list();
    await readRecords(keys);
    return keys.map(publish);
  }

  return {
    list,

    /** Returns one key; undefined for a key that the vault never had. */
    async find(keyId: string): Promise<PublishedKey | undefined> {
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
    .select(['id', 'canonical', 'hash', 'signature', 'key_id', 'sealed_at', 'late'])
    .where('id', 'in', ids)
    .where('state', '=', 'SEALED')
    .execute();
  return entries.flatMap(({ id, canonical, hash, signature, key_id, sealed_at, late }) =>
    canonical === null ||
    hash === null ||
    signature === null ||
    key_id === null ||
    sealed_at === null
      ? []
      : [
          {
            id,
            entryCanonical: composeSealedText({ canonical, sealed_at, late }),
            entryHash: hash,
            hsmSignature: signature,
            hsmKeyId: key_id,
          },
        ],
  );
}
