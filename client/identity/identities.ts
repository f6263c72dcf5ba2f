import { z } from 'zod';
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts';
import { equalBytes, type Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { hasCode } from '../errors/vault-error.ts';
import { proofHeaders, type FreshProof } from '../http/fresh-proof.ts';
import type { Http } from '../http/http.ts';
import type { OpenedKeyring } from '../keys/envelopes.ts';
import { openWithAny, type MasterKeys } from '../keys/master-keys.ts';
import { createIdentity, createSigningPair, publicIdentityOf, type Identity } from './identity.ts';
import { unwrapPrivateKey, unwrapSigningSeed, wrapPrivateKey, wrapSigningSeed } from './wrap.ts';

const routePath = '/v1/crypto/keys/sharing';

const StoredIdentity = z.object({
  publicKey: z.string(),
  wrappedPrivateKey: z.string(),
  signingKey: z.string(),
  /** Null if another client stored a sharing key without a signing key. */
  wrappedSigningKey: z.string().nullable(),
  version: z.int(),
});
type StoredIdentity = z.output<typeof StoredIdentity>;

/** An identity that was opened, and whether its private keys are wrapped as they should be. */
interface OpenedIdentity {
  readonly identity: Identity;
  readonly isCurrent: boolean;
}

/** The user's identity, which the vault keeps wrapped under the master key. */
export interface Identities {
  /**
   * Creates the identity and stores it in the vault; does nothing if there is one. Throws what
   * `open` throws.
   */
  create(masterKey: Bytes): Promise<void>;
  /**
   * Opens the identity, wraps its private keys under the present master key if another client left
   * them under an earlier one, and adds a signing key if another client stored none. Throws what
   * `open` throws, except identity_incomplete. Throws VaultError 401 reauth_required if there is
   * something to change, unless `proof` is given or the login was within five minutes.
   */
  openRewrapped(proof?: FreshProof): Promise<Identity>;
  /**
   * Opens the identity; creates it if there is none. Throws ClientError invalid_envelope if a
   * private key cannot be decrypted or does not belong to the public key that the vault returned,
   * and identity_incomplete if another client stored it without a signing key.
   */
  open(): Promise<Identity>;
  /**
   * Opens the identity and all earlier ones, which rekeys replaced, newest first. Throws what
   * `open` throws, and invalid_keyring.
   */
  openAll(): Promise<readonly Identity[]>;
}

export function createIdentities({
  http,
  openKeyring,
}: {
  readonly http: Http;
  readonly openKeyring: () => Promise<OpenedKeyring>;
}): Identities {
  const load = () => http.json(StoredIdentity, { method: 'GET', path: routePath });

  async function put(identity: Identity, masterKey: Bytes, headers = {}): Promise<void> {
    const json = await wrapIdentity(masterKey, identity);
    await http.send({ method: 'PUT', path: routePath, headers, json });
  }

  /** Opens an identity that exists. Throws not_found. */
  async function openExisting(): Promise<Identity> {
    const stored = await load();
    if (stored.wrappedSigningKey === null) throw new ClientError('identity_incomplete');
    return (await openStored(await openKeyring(), stored)).identity;
  }

  /** Opens the identity as `existing` does, and creates it if there is none. */
  async function openOr(existing: () => Promise<Identity>): Promise<Identity> {
    try {
      return await existing();
    } catch (error) {
      if (!hasCode(error, 'not_found')) throw error;
    }
    return create((await openKeyring()).masterKey);
  }

  /** Opens an identity that exists, and rewraps it. Throws not_found. */
  async function rewrapExisting(proof: FreshProof | undefined): Promise<Identity> {
    const stored = await load();
    const keys = await openKeyring();
    const { identity, isCurrent } = await openStored(keys, stored);
    if (isCurrent) return identity;
    try {
      const headers = { 'if-match': `"${stored.version}"`, ...proofHeaders(proof) };
      await put(identity, keys.masterKey, headers);
    } catch (error) {
      // Another client was faster, or an earlier attempt succeeded and its response was lost.
      if (!hasCode(error, 'precondition_failed')) throw error;
      return openExisting();
    }
    return identity;
  }

  async function create(masterKey: Bytes): Promise<Identity> {
    const identity = await createIdentity();
    try {
      await put(identity, masterKey);
    } catch (error) {
      // Another client was faster, or an earlier attempt succeeded and its response was lost.
      if (!hasCode(error, 'precondition_required')) throw error;
      return openExisting();
    }
    return identity;
  }

  return {
    open: () => openOr(openExisting),
    openRewrapped: (proof) => openOr(() => rewrapExisting(proof)),

    async create(masterKey) {
      await create(masterKey);
    },

    async openAll() {
      const { earlierIdentities } = await openKeyring();
      const earlier = earlierIdentities.map((keys) => Object.assign(publicIdentityOf(keys), keys));
      return [await openOr(openExisting), ...earlier];
    },
  };
}

/**
 * Opens a stored identity, with a new signing pair if it has none. Throws invalid_envelope unless
 * the private keys belong to the public ones.
 */
async function openStored(keys: MasterKeys, stored: StoredIdentity): Promise<OpenedIdentity> {
  const { wrappedPrivateKey, wrappedSigningKey } = stored;
  const wrapped = decodeBase64(wrappedPrivateKey);
  const privateKey = await openWithAny(keys, (key) => unwrapPrivateKey(key, wrapped));
  if (wrappedSigningKey === null) {
    const { signingSeed } = createSigningPair();
    const made = publicIdentityOf({ privateKey, signingSeed });
    assertEqual(made.publicKey, stored.publicKey);
    return { identity: { ...made, privateKey, signingSeed }, isCurrent: false };
  }
  const wrappedSeed = decodeBase64(wrappedSigningKey);
  const signingSeed = await openWithAny(keys, (key) => unwrapSigningSeed(key, wrappedSeed));
  const found = publicIdentityOf({ privateKey, signingSeed });
  assertEqual(found.publicKey, stored.publicKey);
  assertEqual(found.signingKey, stored.signingKey);
  const identity = { ...found, privateKey, signingSeed };
  const present = await wrapIdentity(keys.masterKey, identity);
  const isCurrent =
    present.wrappedPrivateKey === wrappedPrivateKey &&
    present.wrappedSigningKey === wrappedSigningKey;
  return { identity, isCurrent };
}

function assertEqual(found: Bytes, shown: string): void {
  if (!equalBytes(found, decodeBase64(shown))) throw new ClientError('invalid_envelope');
}

/** Returns an identity as the vault stores it: all in base64, the private keys wrapped. */
export async function wrapIdentity(masterKey: Bytes, identity: Identity) {
  const { publicKey, privateKey, signingKey, signingSeed } = identity;
  return {
    publicKey: encodeBase64(publicKey),
    wrappedPrivateKey: encodeBase64(await wrapPrivateKey(masterKey, privateKey)),
    signingKey: encodeBase64(signingKey),
    wrappedSigningKey: encodeBase64(await wrapSigningSeed(masterKey, signingSeed)),
  };
}
