import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import { decodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { nonceBytes, tagBytes } from '../crypto/aes-gcm.ts';
import { wrappedKeyBytes } from '../crypto/key.ts';
import type { VersionName } from '../keys/document-key.ts';

const formatVersion = 3;
const idOffset = 1;
const versionOffset = idOffset + 16;
const changeOffset = versionOffset + 4;
const previousOffset = changeOffset + 4;
const generationOffset = previousOffset + 32;
const headerBytes = generationOffset + 4;
const sealedOffset = headerBytes + wrappedKeyBytes;

/** The place of metadata in the history of a document. */
export interface MetadataPlace extends VersionName {
  /** Number of the changes of this version's metadata so far. */
  readonly change: number;
  /**
   * SHA3-256 of the metadata of the version before as it was when this version was added, 64 hex
   * digits; null for version 1.
   */
  readonly previous: string | null;
  /**
   * Generation of the master key at the time when the key of the document was made; 0 if an earlier
   * master key alone vouches for it.
   */
  readonly keyGeneration: number;
}

/** Encodes the place. `previous` of the first version is 32 zero bytes. */
export function encodeHeader(place: MetadataPlace): Bytes {
  const header = new Uint8Array(headerBytes);
  const view = new DataView(header.buffer);
  header[0] = formatVersion;
  header.set(hexToBytes(place.documentId.toLowerCase().replaceAll('-', '')), idOffset);
  view.setUint32(versionOffset, place.version);
  view.setUint32(changeOffset, place.change);
  if (place.previous !== null) header.set(hexToBytes(place.previous), previousOffset);
  view.setUint32(generationOffset, place.keyGeneration);
  return header;
}

/** Metadata in its parts, of which nothing is authenticated yet. */
export interface EncodedMetadata {
  readonly place: MetadataPlace;
  /** The encoded place, which is authenticated together with the metadata. */
  readonly header: Bytes;
  readonly wrappedKey: Bytes;
  /** Nonce, ciphertext and tag. */
  readonly sealed: Bytes;
}

/** Parses base64. Throws RangeError or SyntaxError for anything but metadata of this format. */
export function decodeMetadata(encryptedMetadata: string): EncodedMetadata {
  const bytes = decodeBase64(encryptedMetadata);
  if (bytes[0] !== formatVersion || bytes.length < sealedOffset + nonceBytes + tagBytes) {
    throw new RangeError('The metadata has an unknown version or is too short.');
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const version = view.getUint32(versionOffset);
  const previous = bytesToHex(bytes.slice(previousOffset, generationOffset));
  return {
    place: {
      documentId: formatId(bytes.slice(idOffset, versionOffset)),
      version,
      change: view.getUint32(changeOffset),
      previous: version === 1 ? null : previous,
      keyGeneration: view.getUint32(generationOffset),
    },
    header: bytes.slice(0, headerBytes),
    wrappedKey: bytes.slice(headerBytes, sealedOffset),
    sealed: bytes.slice(sealedOffset),
  };
}

function formatId(bytes: Bytes): string {
  return bytesToHex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
