import { createPublicKey, type KeyObject } from 'node:crypto';
import type { Hsm } from './hsm.ts';
import type { KeyInToken } from '../ipc/messages.ts';
import type { PublicKey, SigningPurpose } from '../protocol/protocol.ts';
import { SignerRefused, SignerUnavailable } from '../protocol/signer-error.ts';

/** Shortest time between two refreshes, so that unknown key ids cannot flood the token. */
const refreshPauseMs = 1_000;

const algorithms = { audit: 'ECDSA-P256-SHA3-256', token: 'RS256' } as const;

export interface SigningKey {
  readonly keyId: string;
  readonly publicKey: KeyObject;
}

/** The signing keys of the token. Every method throws SignerUnavailable while the token is away. */
export interface KeyDirectory {
  /**
   * Loads a key, refreshing the list for an unknown id. Throws SignerRefused `not_permitted` for a
   * key of another purpose, and SignerUnavailable `key_missing` when the token holds no such key.
   */
  load(keyId: string, purpose: SigningPurpose): Promise<SigningKey>;
  /** Lists all generations of both purposes after refreshing them from the token. */
  list(): Promise<PublicKey[]>;
  /** Creates the next generation, above `after`. */
  create(purpose: SigningPurpose, after: number): Promise<PublicKey>;
}

interface KeyDirectoryOptions {
  readonly hsm: Pick<Hsm, 'keys' | 'refresh' | 'createKey'>;
  readonly clock: () => Date;
}

export function createKeyDirectory({ hsm, clock }: KeyDirectoryOptions): KeyDirectory {
  const parsed = new Map<string, KeyObject>();
  let refreshedAt = 0;
  let refreshing = Promise.resolve();

  return {
    async load(keyId, purpose) {
      const key = find(keyId) ?? (await findAfterRefresh(keyId));
      if (key === undefined) throw missing();
      if (key.purpose !== purpose)
        throw new SignerRefused('not_permitted', `the ${key.purpose} key must not sign this`);
      return { keyId, publicKey: parse(key) };
    },

    async list() {
      await hsm.refresh();
      return hsm.keys.map(describe);
    },

    async create(purpose, after) {
      const key = find(await hsm.createKey(purpose, after));
      if (key === undefined) throw missing();
      return describe(key);
    },
  };

  function find(keyId: string): KeyInToken | undefined {
    return hsm.keys.find((key) => key.keyId === keyId);
  }

  async function findAfterRefresh(keyId: string): Promise<KeyInToken | undefined> {
    const now = clock().getTime();
    // The clock may have been set back.
    if (now < refreshedAt || now - refreshedAt >= refreshPauseMs) {
      refreshedAt = now;
      refreshing = hsm.refresh();
    }
    await refreshing;
    return find(keyId);
  }

  function parse({ keyId, spki }: KeyInToken): KeyObject {
    const key = parsed.get(keyId) ?? createPublicKey({ key: spki, format: 'der', type: 'spki' });
    parsed.set(keyId, key);
    return key;
  }
}

function describe({ purpose, keyId, spki, generation, contested }: KeyInToken): PublicKey {
  const publicKey = spki.toString('base64');
  return { purpose, keyId, algorithm: algorithms[purpose], publicKey, generation, contested };
}

function missing(): SignerUnavailable {
  return new SignerUnavailable('key_missing', 'the token does not hold this key');
}
