import { sha3_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { padJson, parseJson } from '../bytes/json.ts';
import { ClientError } from '../errors/client-error.ts';
import { decryptGcm, deriveGcmKey, encryptGcm } from '../crypto/aes-gcm.ts';
import {
  unwrapDocumentKey,
  versionKeyOf,
  wrapDocumentKey,
  type ReadingKey,
  type VersionName,
} from '../keys/document-key.ts';
import { FileHash } from './fields.ts';
import {
  decodeMetadata,
  encodeHeader,
  type EncodedMetadata,
  type MetadataPlace,
} from './metadata-header.ts';

const metadataLabel = 'Service_Metadata_v2';
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
});
export type Metadata = z.output<typeof Metadata>;

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

/**
 * Encrypts metadata and the document key for one place in the history of one document, and resolves
 * with base64. The text is padded, so that its length does not disclose that of the name. Throws
 * TypeError for invalid metadata, since `decryptMetadata` would refuse it: the metadata and the
 * document key would be lost.
 */
export async function encryptMetadata(
  { masterKey, documentKey }: { readonly masterKey: Bytes; readonly documentKey: Bytes },
  place: MetadataPlace,
  metadata: Metadata,
): Promise<string> {
  assertReadable(Metadata, metadata);
  const wrappedKey = await wrapDocumentKey(masterKey, place.documentId, documentKey);
  const header = encodeHeader(place, wrappedKey);
  const key = await deriveMetadataKey({ documentKey }, place);
  const json = utf8ToBytes(JSON.stringify(metadata));
  const length = Math.ceil(json.length / paddingBytes) * paddingBytes;
  return encodeBase64(concatBytes(header, await encryptGcm(key, padJson(json, length), header)));
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
}

/**
 * Decrypts what `encryptMetadata` returned. Throws document_mismatch or version_mismatch if it was
 * encrypted for another document or version, and invalid_metadata for a wrong key, an unknown
 * format version or changed data.
 */
export async function decryptMetadata(
  masterKey: Bytes,
  expected: ExpectedPlace,
  encryptedMetadata: string,
): Promise<PlacedMetadata & { readonly documentKey: Bytes }> {
  const decoded = decodeExpected(expected, encryptedMetadata);
  try {
    const { place, wrappedKey } = decoded;
    const documentKey = await unwrapDocumentKey(masterKey, place.documentId, wrappedKey);
    return { documentKey, place, metadata: await decryptText({ documentKey }, decoded) };
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
    return { place: decoded.place, metadata: await decryptText(key, decoded) };
  } catch (cause) {
    throw new ClientError('invalid_metadata', { cause });
  }
}

/** Returns the SHA3-256 of encrypted metadata, as sealed entries have it: 64 hex digits. */
export function hashMetadata(encryptedMetadata: string): string {
  return bytesToHex(sha3_256(decodeBase64(encryptedMetadata)));
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
): Promise<Metadata> {
  const metadataKey = await deriveMetadataKey(key, place);
  return Metadata.parse(parseJson(await decryptGcm(metadataKey, sealed, header)));
}

async function deriveMetadataKey(key: ReadingKey, name: VersionName) {
  return deriveGcmKey(await versionKeyOf(key, name), metadataLabel);
}
