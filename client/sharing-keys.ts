import { x25519 } from '@noble/curves/ed25519.js';
import { sha3_256 } from '@noble/hashes/sha3.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { unwrapKey, wrapKey } from './aes-kw.ts';
import { decodeBase64, encodeBase64 } from './base64.ts';
import { equalBytes } from './bytes.ts';
import type { Bytes } from './bytes.ts';
import { ClientError } from './client-error.ts';
import { deriveKey } from './hkdf.ts';
import { createKeyPair } from './hpke.ts';
import type { KeyPair } from './hpke.ts';
import type { Http } from './http.ts';
import { VaultError } from './vault-error.ts';

const PATH = '/v1/crypto/keys/sharing';
const WRAP_LABEL = 'Service_Sharing_Key_Wrap_v1';
const FINGERPRINT_DIGITS = 32;

const SharingKey = z.object({ publicKey: z.string(), wrappedPrivateKey: z.string() });

/** What two people compare by another way than the vault: 32 hex digits. */
export function fingerprintOf(publicKey: Bytes): string {
  return bytesToHex(sha3_256(publicKey)).slice(0, FINGERPRINT_DIGITS);
}

export interface SharingKeys {
  /** Makes the user's key pair, and leaves it with the vault, unless there is one. */
  createOrOpen(): Promise<KeyPair>;
  /**
   * VaultError 404 if there is none; ClientError invalid_envelope if it does not open, or the vault
   * shows others another public key.
   */
  open(): Promise<KeyPair>;
}

export function createSharingKeys({
  http,
  openMasterKey,
}: {
  http: Http;
  openMasterKey: () => Promise<Bytes>;
}): SharingKeys {
  async function open(): Promise<KeyPair> {
    const stored = await http.json(SharingKey, { method: 'GET', path: PATH });
    const wrapped = decodeBase64(stored.wrappedPrivateKey);
    const privateKey = await unwrapPrivateKey(await openMasterKey(), wrapped);
    const publicKey = new Uint8Array(x25519.getPublicKey(privateKey));
    if (!equalBytes(publicKey, decodeBase64(stored.publicKey))) {
      throw new ClientError('invalid_envelope');
    }
    return { publicKey, privateKey };
  }

  async function create(): Promise<KeyPair> {
    const pair = await createKeyPair();
    const wrapped = await wrapPrivateKey(await openMasterKey(), pair.privateKey);
    const json = {
      publicKey: encodeBase64(pair.publicKey),
      wrappedPrivateKey: encodeBase64(wrapped),
    };
    await http.send({ method: 'PUT', path: PATH, json });
    return pair;
  }

  return {
    open,
    async createOrOpen() {
      try {
        return await open();
      } catch (error) {
        if (!hasCode(error, 'not_found')) throw error;
      }
      try {
        return await create();
      } catch (error) {
        // Another client was first, or an earlier try was whose answer was lost.
        if (!hasCode(error, 'precondition_required')) throw error;
        return open();
      }
    },
  };
}

/** AES-KW: 40 bytes. */
export async function wrapPrivateKey(masterKey: Bytes, privateKey: Bytes): Promise<Bytes> {
  return wrapKey(await deriveKey(masterKey, WRAP_LABEL), privateKey);
}

/** Throws invalid_envelope under another master key. */
export async function unwrapPrivateKey(masterKey: Bytes, wrapped: Bytes): Promise<Bytes> {
  return unwrapKey(await deriveKey(masterKey, WRAP_LABEL), wrapped);
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof VaultError && error.code === code;
}
