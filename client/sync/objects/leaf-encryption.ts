import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { decodeBase64, encodeBase64 } from '../../bytes/base64.ts';
import type { Bytes } from '../../bytes/bytes.ts';
import { padJson, parseJson } from '../../bytes/json.ts';
import { ClientError } from '../../errors/client-error.ts';
import {
  decryptGcm,
  deriveGcmKey,
  encryptGcm,
  nonceBytes,
  tagBytes,
  type GcmKey,
} from '../../crypto/aes-gcm.ts';
import { openWithAny, type MasterKeys } from '../../keys/master-keys.ts';

const leafLabel = 'Service_Sync_Leaf_v1';
const formatVersion = 1;
const smallestBytes = 32;
const blockBytes = 1024;
/** Keys of more objects are derived anew: objects come and go for as long as a device runs. */
const maxKeys = 1_000;

export interface LeafCipher {
  /**
   * Base64, another one each time, under the present master key. The value is JSON, and the pointer
   * well-formed.
   */
  seal(objectId: string, pointer: string, value: unknown): Promise<string>;
  /** Throws invalid_leaf for another place, object or user, and for what is no such text. */
  open(objectId: string, pointer: string, text: unknown): Promise<unknown>;
}

type LeafKey = Promise<GcmKey>;

/** Leaves of synchronised objects, each bound to its place, as docs/formats.md has it. */
export function createLeafCipher(masterKeys: MasterKeys): LeafCipher {
  const leafKeys = new Map<Bytes, Map<string, LeafKey>>();

  function leafKeyOf(masterKey: Bytes, objectId: string): LeafKey {
    const ofMaster = leafKeys.get(masterKey) ?? new Map<string, LeafKey>();
    leafKeys.set(masterKey, ofMaster);
    const key = ofMaster.get(objectId) ?? deriveLeafKey(masterKey, objectId);
    // The latest used is the last.
    ofMaster.delete(objectId);
    ofMaster.set(objectId, key);
    const [oldest = objectId] = ofMaster.keys();
    if (ofMaster.size > maxKeys) ofMaster.delete(oldest);
    return key;
  }

  return {
    async seal(objectId, pointer, value) {
      const json = utf8ToBytes(JSON.stringify(value));
      const text = padJson(json, paddedBytes(json.length));
      const key = await leafKeyOf(masterKeys.masterKey, objectId);
      const sealed = await encryptGcm(key, text, placeOf(objectId, pointer));
      return encodeBase64(concatBytes(Uint8Array.of(formatVersion), sealed));
    },

    open: (objectId, pointer, text) =>
      openWithAny(masterKeys, async (masterKey) => {
        try {
          const sealed = decode(text).slice(1);
          const key = await leafKeyOf(masterKey, objectId);
          return parseJson(await decryptGcm(key, sealed, placeOf(objectId, pointer)));
        } catch (cause) {
          throw new ClientError('invalid_leaf', { cause });
        }
      }),
  };
}

function decode(text: unknown): Bytes {
  if (typeof text !== 'string') throw new TypeError('a leaf in the clear');
  const bytes = decodeBase64(text);
  if (bytes[0] !== formatVersion || bytes.length < 1 + nonceBytes + tagBytes) {
    throw new RangeError('unknown version or too short');
  }
  return bytes;
}

/** The id has 36 characters, so that no two places have the same bytes. */
function placeOf(objectId: string, pointer: string): Bytes {
  return concatBytes(Uint8Array.of(formatVersion), utf8ToBytes(objectId), utf8ToBytes(pointer));
}

function deriveLeafKey(masterKey: Bytes, objectId: string): LeafKey {
  return deriveGcmKey(masterKey, leafLabel, utf8ToBytes(objectId));
}

/** The next power of two from 32 to 1024, then the next multiple of 1024. */
function paddedBytes(length: number): number {
  if (length > blockBytes) return Math.ceil(length / blockBytes) * blockBytes;
  let bytes = smallestBytes;
  while (bytes < length) bytes *= 2;
  return bytes;
}
