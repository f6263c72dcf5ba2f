import { createPublicKey, type KeyObject } from 'node:crypto';
import type { SignerClient } from '../../signer/client.ts';
import type { Clock } from '../clock.ts';
import type { Database } from '../db/database.ts';

/** A public key the HSM signs or signed with. */
export interface RegisteredKey {
  /** SHA-256 of the SPKI DER, first 16 bytes, hex. */
  readonly keyId: string;
  readonly purpose: 'audit' | 'token';
  readonly algorithm: string;
  /** SPKI DER, base64. */
  readonly publicKey: string;
  readonly generation: number;
  readonly registeredAt: Date;
  readonly key: KeyObject;
}

/** Every key that ever signed, so that old proofs verify for ever, with the HSM or without. */
export interface KeyRegistry {
  /** Undefined for a key the vault never had. */
  find(keyId: string): Promise<RegisteredKey | undefined>;
  list(): Promise<readonly RegisteredKey[]>;
  /** Registers the signer's keys unless all of these are known. Rejects while the signer is away. */
  ensureKnown(keyIds: readonly string[]): Promise<void>;
  /** Takes over the signer's keys. */
  sync(): Promise<void>;
}

const coolDownMs = 1_000;

interface RegistryOptions {
  readonly db: Database;
  readonly signer: SignerClient;
  readonly clock: Clock;
}

export function createKeyRegistry({ db, signer, clock }: RegistryOptions): KeyRegistry {
  let keys = new Map<string, RegisteredKey>();
  let loadedAt = 0;
  let loading: Promise<void> | undefined;

  async function load(): Promise<void> {
    const rows = await db.asService((tx) =>
      tx.selectFrom('signing_keys').selectAll().orderBy('generation').execute(),
    );
    keys = new Map(
      rows.map((row) => [
        row.key_id,
        {
          keyId: row.key_id,
          purpose: row.purpose,
          algorithm: row.algorithm,
          publicKey: row.public_key,
          generation: row.generation,
          registeredAt: row.registered_at,
          key: keys.get(row.key_id)?.key ?? parseKey(row.public_key),
        },
      ]),
    );
    loadedAt = clock().getTime();
  }

  /** Another replica may have registered a key since; a stranger's key id must not cost a query each. */
  async function loadIfStale(): Promise<void> {
    if (clock().getTime() - loadedAt <= coolDownMs) return;
    loading ??= load().finally(() => {
      loading = undefined;
    });
    await loading;
  }

  async function sync(): Promise<void> {
    const listed = await signer.listKeys();
    await db.asService(async (tx) => {
      for (const key of listed) {
        await tx
          .insertInto('signing_keys')
          .values({
            key_id: key.keyId,
            purpose: key.purpose,
            algorithm: key.algorithm,
            public_key: key.publicKey,
            generation: key.generation,
          })
          .onConflict((conflict) => conflict.column('key_id').doNothing())
          .execute();
      }
    });
    await load();
  }

  return {
    async find(keyId) {
      if (!keys.has(keyId)) await loadIfStale();
      return keys.get(keyId);
    },
    async list() {
      await loadIfStale();
      return [...keys.values()];
    },
    async ensureKnown(keyIds) {
      if (keyIds.every((keyId) => keys.has(keyId))) return;
      await load();
      if (!keyIds.every((keyId) => keys.has(keyId))) await sync();
    },
    sync,
  };
}

function parseKey(publicKey: string): KeyObject {
  return createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
}
