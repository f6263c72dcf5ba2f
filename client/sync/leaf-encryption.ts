import { concatBytes, randomBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../client-error.ts';
import { deriveKey } from '../crypto/hkdf.ts';
import { openWithAny } from '../keys/master-keys.ts';
import type { MasterKeys } from '../keys/master-keys.ts';
import { padLeaf } from './leaf-padding.ts';

const LEAF_LABEL = 'Service_Sync_Leaf_v1';
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export interface LeafCipher {
  /**
   * Base64, another one each time, under the present master key. The value is JSON, and the pointer
   * well-formed.
   */
  seal(objectId: string, pointer: string, value: unknown): Promise<string>;
  /** Throws invalid_leaf for another place, object or user, and for what is no such text. */
  open(objectId: string, pointer: string, text: unknown): Promise<unknown>;
}

type LeafKey = ReturnType<typeof importLeafKey>;

/** Leaves of synchronised objects, each bound to its place, as docs/formats.md has it. */
export function createLeafCipher(masterKeys: MasterKeys): LeafCipher {
  const leafKeys = new Map<Bytes, Map<string, LeafKey>>();

  function leafKeyOf(masterKey: Bytes, objectId: string): LeafKey {
    const ofMaster = leafKeys.get(masterKey) ?? new Map<string, LeafKey>();
    leafKeys.set(masterKey, ofMaster);
    const key = ofMaster.get(objectId) ?? importLeafKey(masterKey, objectId);
    ofMaster.set(objectId, key);
    return key;
  }

  return {
    async seal(objectId, pointer, value) {
      const iv = randomBytes(NONCE_BYTES);
      const algorithm = { name: 'AES-GCM', iv, additionalData: placeOf(objectId, pointer) };
      const text = padLeaf(utf8ToBytes(JSON.stringify(value)));
      const key = await leafKeyOf(masterKeys.masterKey, objectId);
      const sealed = await crypto.subtle.encrypt(algorithm, key, text);
      return encodeBase64(concatBytes(Uint8Array.of(VERSION), iv, new Uint8Array(sealed)));
    },

    open: (objectId, pointer, text) =>
      openWithAny(masterKeys, async (masterKey) => {
        try {
          const bytes = decode(text);
          const iv = bytes.slice(1, 1 + NONCE_BYTES);
          const algorithm = { name: 'AES-GCM', iv, additionalData: placeOf(objectId, pointer) };
          const sealed = bytes.slice(1 + NONCE_BYTES);
          const key = await leafKeyOf(masterKey, objectId);
          const opened = await crypto.subtle.decrypt(algorithm, key, sealed);
          return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(opened)) as unknown;
        } catch (cause) {
          throw new ClientError('invalid_leaf', { cause });
        }
      }),
  };
}

function decode(text: unknown): Bytes {
  if (typeof text !== 'string') throw new TypeError('a leaf in the clear');
  const bytes = decodeBase64(text);
  if (bytes[0] !== VERSION || bytes.length < 1 + NONCE_BYTES + TAG_BYTES) {
    throw new RangeError('unknown version or too short');
  }
  return bytes;
}

/** The id has 36 characters, so that no two places have the same bytes. */
function placeOf(objectId: string, pointer: string): Bytes {
  return concatBytes(Uint8Array.of(VERSION), utf8ToBytes(objectId), utf8ToBytes(pointer));
}

async function importLeafKey(masterKey: Bytes, objectId: string) {
  const key = await deriveKey(masterKey, LEAF_LABEL, utf8ToBytes(objectId));
  return crypto.subtle.importKey('raw', key, 'AES-GCM', false, ['encrypt', 'decrypt']);
}
