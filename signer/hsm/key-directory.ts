import { createPublicKey, type KeyObject } from 'node:crypto';
import type { Hsm } from './hsm.ts';
import type { KeyInToken } from '../ipc/messages.ts';
import type { KeyRequest, PublicKey, SigningPurpose } from '../protocol/protocol.ts';
import { SignerRefused, SignerUnavailable } from '../protocol/signer-error.ts';

/**
 * Minimum milliseconds between two refreshes for unknown key ids, so that requests with unknown ids
 * cannot overload the token.
 */
const refreshPauseMs = 1_000;

const algorithms = { audit: 'ECDSA-P256-SHA3-256', token: 'RS256' } as const;

export interface SigningKey {
  readonly keyId: string;
  readonly publicKey: KeyObject;
}

/**
 * The signing keys of the token. Every method throws SignerUnavailable while the token is
 * unavailable.
 */
export interface KeyDirectory {
  /**
   * Loads the key with this id. If the id is unknown, reads the keys of the token again. Throws
   * SignerRefused `not_permitted` for a key of another purpose and for an imported key that nobody
   * has adopted, and SignerUnavailable `key_missing` when the token holds no such key.
   */
  load(keyId: string, purpose: SigningPurpose): Promise<SigningKey>;
  /** Reads the keys of the token again and lists all generations of both purposes. */
  list(): Promise<HeldKeys>;
  /**
   * Creates the next generation of a signing key, with a number above `after`. With `generation`,
   * creates that one or finds it, and throws SignerRefused `wrong_generation` if it is neither.
   */
  create(request: KeyRequest): Promise<PublicKey>;
  /**
   * Makes an imported key usable, for this signer and all others of the token. Has no effect on a
   * key that is used already. Throws SignerRefused `not_permitted` if another key has the label of
   * the key, and SignerUnavailable `key_missing` when the token holds no such key.
   */
  adopt(keyId: string): Promise<PublicKey>;
}

/** The public keys of the token, by whether they are used. */
interface HeldKeys {
  readonly keys: PublicKey[];
  readonly unadopted: PublicKey[];
}

interface KeyDirectoryOptions {
  readonly hsm: Pick<Hsm, 'keys' | 'unadopted' | 'refresh' | 'createKey' | 'adoptKey'>;
  readonly clock: () => Date;
}

export function createKeyDirectory({ hsm, clock }: KeyDirectoryOptions): KeyDirectory {
  const parsed = new Map<string, KeyObject>();
  let refreshedAt = 0;
  let refreshing = Promise.resolve();

  return {
    async load(keyId, purpose) {
      const key = find(keyId) ?? (await findAfterRefresh(keyId));
      if (key === undefined) throw unusable(keyId);
      if (key.purpose !== purpose)
        throw new SignerRefused('not_permitted', `the ${key.purpose} key must not sign this`);
      return { keyId, publicKey: parse(key) };
    },

    async list() {
      await hsm.refresh();
      return { keys: hsm.keys.map(describe), unadopted: hsm.unadopted.map(describe) };
    },

    async create(request) {
      const keyId = await hsm.createKey(request);
      if (keyId === null) throw wrongGeneration(request);
      const key = find(keyId);
      if (key === undefined) throw missing();
      return describe(key);
    },

    async adopt(keyId) {
      await hsm.refresh();
      const imported = hsm.unadopted.find((key) => key.keyId === keyId);
      if (imported?.contested === true)
        throw new SignerRefused('not_permitted', 'another key of the token has the same label');
      if (imported !== undefined) await hsm.adoptKey(keyId);
      const key = find(keyId);
      if (key === undefined) throw missing();
      return describe(key);
    },
  };

  function unusable(keyId: string): SignerRefused | SignerUnavailable {
    return hsm.unadopted.some((key) => key.keyId === keyId)
      ? new SignerRefused('not_permitted', 'the token did not generate this key: adopt it first')
      : missing();
  }

  function find(keyId: string): KeyInToken | undefined {
    return hsm.keys.find((key) => key.keyId === keyId);
  }

  async function findAfterRefresh(keyId: string): Promise<KeyInToken | undefined> {
    const now = clock().getTime();
    // `now` is before `refreshedAt` if the clock was set back.
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

function describe({ spki, ...key }: KeyInToken): PublicKey {
  return { ...key, algorithm: algorithms[key.purpose], publicKey: spki.toString('base64') };
}

function wrongGeneration({ purpose, generation }: KeyRequest): SignerRefused {
  return new SignerRefused(
    'wrong_generation',
    `${purpose}-${generation} is neither the next key nor one that the token holds`,
  );
}

function missing(): SignerUnavailable {
  return new SignerUnavailable('key_missing', 'the token does not hold this key');
}
