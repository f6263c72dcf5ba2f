import { createPublicKey, type KeyObject } from 'node:crypto';
import type { Hsm } from './hsm.ts';
import type { KeyInToken } from './messages.ts';
import type { PublicKey, SigningPurpose } from '../protocol/protocol.ts';
import { SignerRefused, SignerUnavailable } from '../protocol/signer-error.ts';

/** A key id that nobody knows must not cost a look at the token each time. */
const lookPauseMs = 1_000;

const algorithms = { audit: 'ECDSA-P256-SHA3-256', token: 'RS256' } as const;

export type SigningKey = { keyId: string; publicKey: KeyObject };

/** The signing keys of the token. Every method throws SignerUnavailable while it is away. */
export type KeyDirectory = {
  /**
   * Throws SignerRefused `not_permitted` for a key of another purpose, and SignerUnavailable
   * `key_missing` when the token has none of that id after another look.
   */
  load(keyId: string, purpose: SigningPurpose): Promise<SigningKey>;
  /** All generations of both purposes, as the token holds them now. */
  list(): Promise<PublicKey[]>;
  /** Makes the next generation, above `after`. */
  create(purpose: SigningPurpose, after: number): Promise<PublicKey>;
};

type KeyDirectoryOptions = {
  hsm: Pick<Hsm, 'keys' | 'refresh' | 'createKey'>;
  clock: () => Date;
};

export function createKeyDirectory({ hsm, clock }: KeyDirectoryOptions): KeyDirectory {
  const parsed = new Map<string, KeyObject>();
  let lookedAt = 0;
  let looking = Promise.resolve();

  return {
    async load(keyId, purpose) {
      const key = find(keyId) ?? (await findAfterLook(keyId));
      if (!key) throw missing();
      if (key.purpose !== purpose)
        throw new SignerRefused('not_permitted', `the ${key.purpose} key does not sign this`);
      return { keyId, publicKey: parse(key) };
    },

    async list() {
      await hsm.refresh();
      return hsm.keys.map(describe);
    },

    async create(purpose, after) {
      const key = find(await hsm.createKey(purpose, after));
      if (!key) throw missing();
      return describe(key);
    },
  };

  function find(keyId: string): KeyInToken | undefined {
    return hsm.keys.find((key) => key.keyId === keyId);
  }

  async function findAfterLook(keyId: string): Promise<KeyInToken | undefined> {
    const now = clock().getTime();
    // The clock may have been set back.
    if (now < lookedAt || now - lookedAt >= lookPauseMs) {
      lookedAt = now;
      looking = hsm.refresh();
    }
    await looking;
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
  return new SignerUnavailable('key_missing', 'the token holds no such key');
}
