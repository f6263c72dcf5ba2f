import { x25519 } from '@noble/curves/ed25519.js';
import { sha3_256 } from '@noble/hashes/sha3.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts';
import { equalBytes, type Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { unwrapKey, wrapKey } from '../crypto/aes-kw.ts';
import { deriveKey } from '../crypto/hkdf.ts';
import { createKeyPair, type KeyPair } from '../crypto/hpke.ts';
import { proofHeaders, type FreshProof } from '../http/fresh-proof.ts';
import type { Http } from '../http/http.ts';
import { openWithAny, type MasterKeys } from '../keys/master-keys.ts';
import { hasCode } from '../errors/vault-error.ts';

const routePath = '/v1/crypto/keys/sharing';
const wrapLabel = 'Service_Sharing_Key_Wrap_v1';
const fingerprintDigits = 32;

const SharingKey = z.object({
  publicKey: z.string(),
  wrappedPrivateKey: z.string(),
  version: z.int(),
});

type SharingKey = z.output<typeof SharingKey>;

/**
 * Returns the fingerprint of a sharing key, 32 hex digits, which two people compare over another
 * channel than the vault.
 */
export function fingerprintOf(publicKey: Bytes): string {
  return bytesToHex(sha3_256(publicKey)).slice(0, fingerprintDigits);
}

/** The user's sharing key pair (X25519), which the vault keeps wrapped under the master key. */
export interface SharingKeys {
  /**
   * Creates the key pair and stores it in the vault. If there already is a key pair, opens it and
   * wraps it as `rewrap` does. Throws what `open` throws, except not_found, and what `rewrap`
   * throws.
   */
  createOrOpen(proof?: FreshProof): Promise<KeyPair>;
  /**
   * Wraps the private key under the present master key after a rekey. Does nothing if it is already
   * wrapped under that key or if there is no key pair. Until this is done, the earlier master key
   * opens the private key. Throws VaultError 401 reauth_required if there is something to do,
   * unless `proof` is given or the login was within five minutes.
   */
  rewrap(proof?: FreshProof): Promise<void>;
  /**
   * Opens the key pair. Throws VaultError 404 not_found if there is none, and ClientError
   * invalid_envelope if the private key cannot be decrypted or does not belong to the public key
   * that the vault returned.
   */
  open(): Promise<KeyPair>;
}

export function createSharingKeys({
  http,
  openMasterKeys,
}: {
  readonly http: Http;
  readonly openMasterKeys: () => Promise<MasterKeys>;
}): SharingKeys {
  const load = () => http.json(SharingKey, { method: 'GET', path: routePath });

  async function openStored(keys: MasterKeys, stored: SharingKey): Promise<KeyPair> {
    const wrapped = decodeBase64(stored.wrappedPrivateKey);
    const privateKey = await openWithAny(keys, (masterKey) => unwrapPrivateKey(masterKey, wrapped));
    const publicKey = new Uint8Array(x25519.getPublicKey(privateKey));
    if (!equalBytes(publicKey, decodeBase64(stored.publicKey))) {
      throw new ClientError('invalid_envelope');
    }
    return { publicKey, privateKey };
  }

  async function put(pair: KeyPair, masterKey: Bytes, headers = {}): Promise<void> {
    const json = {
      publicKey: encodeBase64(pair.publicKey),
      wrappedPrivateKey: encodeBase64(await wrapPrivateKey(masterKey, pair.privateKey)),
    };
    await http.send({ method: 'PUT', path: routePath, headers, json });
  }

  async function open(): Promise<KeyPair> {
    const stored = await load();
    return openStored(await openMasterKeys(), stored);
  }

  async function openRewrapped(proof: FreshProof | undefined): Promise<KeyPair> {
    const stored = await load();
    const keys = await openMasterKeys();
    const pair = await openStored(keys, stored);
    const wrapped = encodeBase64(await wrapPrivateKey(keys.masterKey, pair.privateKey));
    if (wrapped === stored.wrappedPrivateKey) return pair;
    try {
      const headers = { 'if-match': `"${stored.version}"`, ...proofHeaders(proof) };
      await put(pair, keys.masterKey, headers);
    } catch (error) {
      // Another client was faster, or an earlier attempt succeeded and its response was lost.
      if (!hasCode(error, 'precondition_failed')) throw error;
      return open();
    }
    return pair;
  }

  async function create(): Promise<KeyPair> {
    const pair = await createKeyPair();
    await put(pair, (await openMasterKeys()).masterKey);
    return pair;
  }

  return {
    open,

    async rewrap(proof) {
      try {
        await openRewrapped(proof);
      } catch (error) {
        if (!hasCode(error, 'not_found')) throw error;
      }
    },

    async createOrOpen(proof) {
      try {
        return await openRewrapped(proof);
      } catch (error) {
        if (!hasCode(error, 'not_found')) throw error;
      }
      try {
        return await create();
      } catch (error) {
        // Another client was faster, or an earlier attempt succeeded and its response was lost.
        if (!hasCode(error, 'precondition_required')) throw error;
        return open();
      }
    },
  };
}

/** Wraps the private sharing key under the master key with AES-KW: 40 bytes. */
export async function wrapPrivateKey(masterKey: Bytes, privateKey: Bytes): Promise<Bytes> {
  return wrapKey(await deriveKey(masterKey, wrapLabel), privateKey);
}

/** Unwraps the private sharing key. Throws invalid_envelope for a wrong master key. */
export async function unwrapPrivateKey(masterKey: Bytes, wrapped: Bytes): Promise<Bytes> {
  return unwrapKey(await deriveKey(masterKey, wrapLabel), wrapped);
}
