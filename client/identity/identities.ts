import { z } from 'zod';
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts';
import { equalBytes, type Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { hasCode } from '../errors/vault-error.ts';
import { proofHeaders, type FreshProof } from '../http/fresh-proof.ts';
import type { Http } from '../http/http.ts';
import type { OpenedKeyring } from '../keys/envelopes.ts';
import { openWithAny, type MasterKeys } from '../keys/master-keys.ts';
import type { ReadNames } from './account-names.ts';
import {
  createIdentity,
  createSigningPair,
  fingerprintOf,
  publicIdentityOf,
  type Identity,
  type PublicIdentity,
} from './identity.ts';
import { signPublication, type Predecessor } from './publication.ts';
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

/** An identity that was opened. */
interface OpenedIdentity {
  readonly identity: Identity;
  /**
   * Whether the present master key opened it. Whoever has an earlier one knows the identity of that
   * time, or can make another.
   */
  readonly isPresent: boolean;
  /** Whether the vault has its signing key; otherwise the one here is new. */
  readonly isComplete: boolean;
}

/** How an identity replaces another one. */
interface Replacement {
  readonly before?: Predecessor;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The user's identity, which the vault keeps wrapped under the master key. */
export interface Identities {
  /**
   * Creates the identity and stores it in the vault; does nothing if there is one. Throws what
   * `open` throws.
   */
  create(masterKey: Bytes): Promise<void>;
  /**
   * Opens the identity. Replaces it if another client left it under an earlier master key, and adds
   * a signing key if another client stored none. Throws what `open` throws, except
   * identity_incomplete and identity_outdated. Throws VaultError 401 reauth_required if there is
   * something to change, unless `proof` is given or the login was within five minutes.
   */
  openCompleted(proof?: FreshProof): Promise<Identity>;
  /**
   * Opens the identity; creates it if there is none. Throws ClientError invalid_envelope if a
   * private key cannot be decrypted or does not belong to the public key that the vault returned,
   * identity_incomplete if another client stored it without a signing key, and identity_outdated if
   * only an earlier master key opens it.
   */
  open(): Promise<Identity>;
  /**
   * Resolves with the fingerprint of the identity, which this master key alone must open. Throws
   * what `open` throws, and VaultError 404 not_found.
   */
  fingerprintUnder(masterKey: Bytes): Promise<string>;
  /**
   * Opens the identity and all earlier ones, which rekeys replaced, newest first, to read what was
   * shared with them. Throws what `open` throws, except identity_incomplete, and invalid_keyring.
   * An identity that only an earlier master key opens is no outdated one if it is in the keyring.
   */
  openAll(): Promise<readonly Identity[]>;
  /**
   * Opens all identities as `openAll` does, and the present one as what a rekey replaces. Throws
   * what `openAll` throws.
   */
  openReplaceable(): Promise<{
    readonly all: readonly Identity[];
    readonly predecessor: Predecessor;
  }>;
}

export function createIdentities({
  http,
  openKeyring,
  readNames,
}: {
  readonly http: Http;
  readonly openKeyring: () => Promise<OpenedKeyring>;
  readonly readNames: ReadNames;
}): Identities {
  const load = () => http.json(StoredIdentity, { method: 'GET', path: routePath });

  async function put(
    identity: Identity,
    masterKey: Bytes,
    { before, headers = {} }: Replacement = {},
  ): Promise<void> {
    const wrapped = await wrapIdentity(masterKey, identity);
    const signatures = signPublication(await readNames(), identity, before);
    await http.send({
      method: 'PUT',
      path: routePath,
      headers,
      json: { ...wrapped, ...signatures },
    });
  }

  /** Opens an identity that exists. Throws not_found. */
  async function openExisting(): Promise<Identity> {
    const { identity, isPresent, isComplete } = await openStored(await openKeyring(), await load());
    if (!isComplete) throw new ClientError('identity_incomplete');
    if (!isPresent) throw new ClientError('identity_outdated');
    return identity;
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

  /** Opens an identity that exists, and stores what it lacks. Throws not_found. */
  async function completeExisting(proof: FreshProof | undefined): Promise<Identity> {
    const stored = await load();
    const keys = await openKeyring();
    const opened = await openStored(keys, stored);
    const { identity, isPresent, isComplete } = opened;
    if (isPresent && isComplete) return identity;
    const completed = isPresent ? identity : await createIdentity();
    try {
      const headers = { 'if-match': `"${stored.version}"`, ...proofHeaders(proof) };
      await put(completed, keys.masterKey, { before: predecessorOf(stored, opened), headers });
    } catch (error) {
      // Another client was faster, or an earlier attempt succeeded and its response was lost.
      if (!hasCode(error, 'precondition_failed')) throw error;
      return openExisting();
    }
    return completed;
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

  async function openAll(
    onOpened: (stored: StoredIdentity, opened: OpenedIdentity) => void = () => undefined,
  ): Promise<readonly [Identity, ...Identity[]]> {
    const keyring = await openKeyring();
    const earlier = keyring.earlierIdentities.map((keys) =>
      Object.assign(publicIdentityOf(keys), keys),
    );
    const present = await openOr(async () => {
      const stored = await load();
      const opened = await openStored(keyring, stored);
      const { identity, isPresent } = opened;
      // An identity that an earlier master key opens may be made by somebody who has that key.
      const isVouchedFor = isPresent || earlier.some((each) => isSame(each, identity));
      if (!isVouchedFor) throw new ClientError('identity_outdated');
      onOpened(stored, opened);
      return identity;
    });
    return [present, ...earlier];
  }

  return {
    open: () => openOr(openExisting),
    openCompleted: (proof) => openOr(() => completeExisting(proof)),

    async create(masterKey) {
      await create(masterKey);
    },

    async fingerprintUnder(masterKey) {
      const { identity, isComplete } = await openStored({ masterKey }, await load());
      if (!isComplete) throw new ClientError('identity_incomplete');
      return fingerprintOf(identity);
    },

    openAll: () => openAll(),

    async openReplaceable() {
      let replaced: Predecessor | undefined;
      const all = await openAll((stored, opened) => {
        replaced = predecessorOf(stored, opened);
      });
      const [present] = all;
      return { all, predecessor: replaced ?? { published: present, signer: present } };
    },
  };
}

/**
 * Opens a stored identity, with a new signing pair if it has none. Throws invalid_envelope unless
 * one master key opens the private keys, and they belong to the public ones.
 */
function openStored(keys: MasterKeys, stored: StoredIdentity): Promise<OpenedIdentity> {
  return openWithAny(keys, async (masterKey) => {
    const identity = await unwrapIdentity(masterKey, stored);
    const isComplete = stored.wrappedSigningKey !== null;
    assertEqual(identity.publicKey, stored.publicKey);
    if (isComplete) assertEqual(identity.signingKey, stored.signingKey);
    return { identity, isPresent: masterKey === keys.masterKey, isComplete };
  });
}

async function unwrapIdentity(
  masterKey: Bytes,
  { wrappedPrivateKey, wrappedSigningKey: wrappedSeed }: StoredIdentity,
): Promise<Identity> {
  const privateKey = await unwrapPrivateKey(masterKey, decodeBase64(wrappedPrivateKey));
  const { signingSeed } =
    wrappedSeed === null
      ? createSigningPair()
      : { signingSeed: await unwrapSigningSeed(masterKey, decodeBase64(wrappedSeed)) };
  return { ...publicIdentityOf({ privateKey, signingSeed }), privateKey, signingSeed };
}

/** Returns a stored identity that was opened, as what another one replaces. */
function predecessorOf(
  { publicKey, signingKey }: StoredIdentity,
  { identity, isComplete }: OpenedIdentity,
): Predecessor {
  return {
    published: { publicKey: decodeBase64(publicKey), signingKey: decodeBase64(signingKey) },
    signer: isComplete ? identity : undefined,
  };
}

function isSame(one: PublicIdentity, other: PublicIdentity): boolean {
  return equalBytes(one.publicKey, other.publicKey) && equalBytes(one.signingKey, other.signingKey);
}

function assertEqual(found: Bytes, shown: string): void {
  if (!equalBytes(found, decodeBase64(shown))) throw new ClientError('invalid_envelope');
}

/** An identity as the vault stores it: all in base64, the private keys wrapped. */
export type WrappedIdentity = Awaited<ReturnType<typeof wrapIdentity>>;

/** Wraps the private keys of an identity under the master key. */
export async function wrapIdentity(masterKey: Bytes, identity: Identity) {
  const { publicKey, privateKey, signingKey, signingSeed } = identity;
  return {
    publicKey: encodeBase64(publicKey),
    wrappedPrivateKey: encodeBase64(await wrapPrivateKey(masterKey, privateKey)),
    signingKey: encodeBase64(signingKey),
    wrappedSigningKey: encodeBase64(await wrapSigningSeed(masterKey, signingSeed)),
  };
}
