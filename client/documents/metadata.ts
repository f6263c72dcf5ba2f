import { sha3_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { padJson, parseJson } from '../bytes/json.ts';
import { ClientError } from '../errors/client-error.ts';
import { decryptGcm, deriveGcmKey, encryptGcm } from '../crypto/aes-gcm.ts';
import { WrappedKey } from '../crypto/key.ts';
import {
  unwrapDocumentKey,
  versionKeyOf,
  wrapDocumentKey,
  type ReadingKey,
  type VersionName,
} from '../keys/document-key.ts';
import { Content } from '../content/content.ts';
import { FileHash } from './fields.ts';
import {
  decodeMetadata,
  encodeHeader,
  type EncodedMetadata,
  type MetadataPlace,
} from './metadata-header.ts';

const metadataLabel = 'Service_Metadata_v3';
const paddingBytes = 256;

/**
 * A document's metadata, which only its owner and recipients can decrypt. Unknown members are
 * dropped.
 */
export const Metadata = z.object({
  name: z.string(),
  mediaType: z.string(),
  /** Size of the file before encryption, in bytes. */
  size: z.int().nonnegative(),
  /** The keywords by which a search finds the document, as `normalizeKeywords` returns them. */
  keywords: z.array(z.string()),
  /** SHA3-256 of the encrypted file; it binds the metadata to that file. */
  fileHash: FileHash,
  /** With it, the owner can show what the file of a sealed version was. */
  content: Content,
});
export type Metadata = z.output<typeof Metadata>;

/** The encrypted text: the metadata, and the key that the document had before its present one. */
const Text = Metadata.extend({ earlierKey: WrappedKey.optional() });

/** Throws TypeError unless name and media type are strings: `decryptMetadata` would refuse them. */
export function assertDescription(description: Pick<Metadata, 'name' | 'mediaType'>): void {
  assertReadable(Metadata.pick({ name: true, mediaType: true }), description);
}

function assertReadable(schema: z.ZodType, value: unknown): void {
  const { error } = schema.safeParse(value);
  if (error === undefined) return;
  const members = error.issues.map(({ path }) => path.join('.')).join(', ');
  throw new TypeError(`The metadata is not valid; correct these members: ${members}.`);
}

/** The keys that metadata takes along. */
export interface MetadataKeys {
  /** The present master key, which authenticates the metadata for the owner. */
  readonly masterKey: Bytes;
  readonly documentKey: Bytes;
  /** In the first version under a new document key, the one before as `wrapEarlierKey` wraps it. */
  readonly earlierKey?: Bytes | undefined;
}

/**
 * Encrypts metadata and the document key for one place in the history of one document, and resolves
 * with base64. The document key is wrapped for this ciphertext alone, so that nobody else who has
 * the document key can make metadata that the owner believes. The text is padded, so that its
 * length does not disclose that of the name. Throws TypeError for invalid metadata, since
 * `decryptMetadata` would refuse it: the metadata and the document key would be lost.
 */
export async function encryptMetadata(
  { masterKey, documentKey, earlierKey }: MetadataKeys,
  place: MetadataPlace,
  metadata: Metadata,
): Promise<string> {
  assertReadable(Metadata, metadata);
  const header = encodeHeader(place);
  const key = await deriveMetadataKey({ documentKey }, place);
  const earlier = earlierKey === undefined ? {} : { earlierKey: encodeBase64(earlierKey) };
  const json = utf8ToBytes(JSON.stringify({ ...metadata, ...earlier }));
  const length = Math.ceil(json.length / paddingBytes) * paddingBytes;
  const sealed = await encryptGcm(key, padJson(json, length), header);
  const wrappedKey = await wrapDocumentKey(masterKey, contextOf({ header, sealed }), documentKey);
  return encodeBase64(concatBytes(header, wrappedKey, sealed));
}

/** The document, and the version if it is known, of which metadata must be. */
export interface ExpectedPlace {
  readonly documentId: string;
  readonly version?: number | undefined;
}

/** Decrypted metadata and its place in the history of the document. */
export interface PlacedMetadata {
  readonly metadata: Metadata;
  readonly place: MetadataPlace;
  /** The key that the document had before, wrapped under its key; undefined if it is the same. */
  readonly earlierKey: Bytes | undefined;
}

/**
 * Decrypts what `encryptMetadata` returned. Throws document_mismatch or version_mismatch if it was
 * encrypted for another document or version, and invalid_metadata for a wrong key, an unknown
 * format version, changed data, or data that somebody else made with the document key.
 */
export async function decryptMetadata(
  masterKey: Bytes,
  expected: ExpectedPlace,
  encryptedMetadata: string,
): Promise<PlacedMetadata & { readonly documentKey: Bytes }> {
  const decoded = decodeExpected(expected, encryptedMetadata);
  try {
    const context = contextOf(decoded);
    const documentKey = await unwrapDocumentKey(masterKey, context, decoded.wrappedKey);
    return { documentKey, ...(await decryptText({ documentKey }, decoded)) };
  } catch (cause) {
    throw new ClientError('invalid_metadata', { cause });
  }
}

/**
 * Decrypts metadata with the key of the document or the version, as the recipient of a share does.
 * Throws what `decryptMetadata` throws.
 */
export async function openMetadata(
  key: ReadingKey,
  expected: ExpectedPlace,
  encryptedMetadata: string,
): Promise<PlacedMetadata> {
  const decoded = decodeExpected(expected, encryptedMetadata);
  try {
    return await decryptText(key, decoded);
  } catch (cause) {
    throw new ClientError('invalid_metadata', { cause });
  }
}

/** Returns the SHA3-256 of encrypted metadata, as sealed entries have it: 64 hex digits. */
export function hashMetadata(encryptedMetadata: string): string {
  return bytesToHex(sha3_256(decodeBase64(encryptedMetadata)));
}

/**
 * Returns the document and the version that encrypted metadata names, which nothing authenticates
 * before it is decrypted. Throws invalid_metadata for an unknown format.
 */
export function placeOf(encryptedMetadata: string): VersionName {
  return decode(encryptedMetadata).place;
}

function decodeExpected(expected: ExpectedPlace, encryptedMetadata: string): EncodedMetadata {
  const decoded = decode(encryptedMetadata);
  const { documentId, version } = decoded.place;
  if (documentId !== expected.documentId.toLowerCase()) throw new ClientError('document_mismatch');
  if (version !== (expected.version ?? version)) throw new ClientError('version_mismatch');
  return decoded;
}

function decode(encryptedMetadata: string): EncodedMetadata {
  try {
    return decodeMetadata(encryptedMetadata);
  } catch (cause) {
    throw new ClientError('invalid_metadata', { cause });
  }
}

async function decryptText(
  key: ReadingKey,
  { place, header, sealed }: EncodedMetadata,
): Promise<PlacedMetadata> {
  const metadataKey = await deriveMetadataKey(key, place);
  const text = Text.parse(parseJson(await decryptGcm(metadataKey, sealed, header)));
  const { earlierKey, ...metadata } = text;
  const wrapped = earlierKey === undefined ? undefined : decodeBase64(earlierKey);
  return { place, metadata, earlierKey: wrapped };
}

/** Returns the hash of all of the metadata but the wrapped key. */
function contextOf({ header, sealed }: Pick<EncodedMetadata, 'header' | 'sealed'>): Bytes {
  return new Uint8Array(sha3_256(concatBytes(header, sealed)));
}

async function deriveMetadataKey(key: ReadingKey, name: VersionName) {
  return deriveGcmKey(await versionKeyOf(key, name), metadataLabel);
}
