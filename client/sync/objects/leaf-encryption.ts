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
/**
 * Number of leaf keys that are cached per master key; others are derived again when needed, so that
 * memory stays bounded.
 */
const maxKeys = 1_000;

type LeafKey = Promise<GcmKey>;

interface Leaf {
  readonly objectId: string;
  readonly pointer: string;
  readonly text: unknown;
}

export interface OpenedLeaf {
  readonly value: unknown;
  /** Whether the present master key opened it, and not an earlier one. */
  readonly isPresent: boolean;
}

export type LeafCipher = ReturnType<typeof createLeafCipher>;

/**
 * Creates the cipher for leaves of synchronised objects, each of which is bound to its place in the
 * object; docs/formats.md describes the bytes.
 */
export function createLeafCipher(masterKeys: MasterKeys) {
  const leafKeys = new Map<Bytes, Map<string, LeafKey>>();

  function leafKeyOf(masterKey: Bytes, objectId: string): LeafKey {
    const ofMaster = leafKeys.get(masterKey) ?? new Map<string, LeafKey>();
    leafKeys.set(masterKey, ofMaster);
    const key = ofMaster.get(objectId) ?? deriveLeafKey(masterKey, objectId);
    // A key that is used moves to the end of the map, so that the first key is the least recently
    // used one.
    ofMaster.delete(objectId);
    ofMaster.set(objectId, key);
    const [oldest = objectId] = ofMaster.keys();
    if (ofMaster.size > maxKeys) ofMaster.delete(oldest);
    return key;
  }

  async function openUnder(masterKey: Bytes, { objectId, pointer, text }: Leaf): Promise<unknown> {
    try {
      const sealed = decode(text).slice(1);
      const key = await leafKeyOf(masterKey, objectId);
      return parseJson(await decryptGcm(key, sealed, placeOf(objectId, pointer)));
    } catch (cause) {
      throw new ClientError('invalid_leaf', { cause });
    }
  }

  /**
   * Encrypts a leaf under the present master key and resolves with base64, which differs each time,
   * even for the same value. The value must be JSON, and the pointer well-formed.
   */
  async function seal(objectId: string, pointer: string, value: unknown): Promise<string> {
    const json = utf8ToBytes(JSON.stringify(value));
    const text = padJson(json, paddedBytes(json.length));
    const key = await leafKeyOf(masterKeys.masterKey, objectId);
    const sealed = await encryptGcm(key, text, placeOf(objectId, pointer));
    return encodeBase64(concatBytes(Uint8Array.of(formatVersion), sealed));
  }

  return {
    seal,

    /**
     * Decrypts a leaf. Throws invalid_leaf unless the text is a leaf that was encrypted for this
     * place of this object under one of the user's master keys.
     */
    open: (objectId: string, pointer: string, text: unknown): Promise<OpenedLeaf> =>
      openWithAny(masterKeys, async (masterKey) => {
        const value = await openUnder(masterKey, { objectId, pointer, text });
        return { value, isPresent: masterKey === masterKeys.masterKey };
      }),

    /**
     * Encrypts a leaf anew that an earlier master key opens. Resolves with any other value as it
     * is.
     */
    async renew(objectId: string, pointer: string, text: unknown): Promise<unknown> {
      const leaf = { objectId, pointer, text };
      for (const masterKey of masterKeys.earlierKeys ?? []) {
        const opened = await openUnder(masterKey, leaf).catch(() => undefined);
        if (opened !== undefined) return seal(objectId, pointer, opened);
      }
      return text;
    },
  };
}

function decode(text: unknown): Bytes {
  if (typeof text !== 'string') throw new TypeError('The leaf is not encrypted.');
  const bytes = decodeBase64(text);
  if (bytes[0] !== formatVersion || bytes.length < 1 + nonceBytes + tagBytes) {
    throw new RangeError('The leaf has an unknown version or is too short.');
  }
  return bytes;
}

/**
 * Returns the additional data of a leaf. Object ids have 36 characters, so no two places have the
 * same additional data.
 */
function placeOf(objectId: string, pointer: string): Bytes {
  return concatBytes(Uint8Array.of(formatVersion), utf8ToBytes(objectId), utf8ToBytes(pointer));
}

function deriveLeafKey(masterKey: Bytes, objectId: string): LeafKey {
  return deriveGcmKey(masterKey, leafLabel, utf8ToBytes(objectId));
}

/**
 * Returns the padded length in bytes: the next power of two from 32 to 1024, above that a multiple
 * of 1024.
 */
function paddedBytes(length: number): number {
  if (length > blockBytes) return Math.ceil(length / blockBytes) * blockBytes;
  let bytes = smallestBytes;
  while (bytes < length) bytes *= 2;
  return bytes;
}
