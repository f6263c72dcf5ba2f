import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { padJson, parseJson } from '../bytes/json.ts';
import { ClientError } from '../errors/client-error.ts';
import { decryptGcm, deriveGcmKey, encryptGcm, nonceBytes, tagBytes } from '../crypto/aes-gcm.ts';
import { wrappedKeyBytes } from '../crypto/key.ts';
import { unwrapDocumentKey, wrapDocumentKey } from '../keys/document-key.ts';
import { FileHash } from './fields.ts';

const metadataLabel = 'Service_Metadata_v1';
const formatVersion = 1;
const prefixBytes = 1 + wrappedKeyBytes;
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
 * Encrypts metadata and the document key, and resolves with base64. The text is padded, so that its
 * length does not disclose that of the name. Throws TypeError for invalid metadata, since
 * `decryptMetadata` would refuse it: the metadata and the document key would be lost.
 */
export async function encryptMetadata(
  { masterKey, documentKey }: { readonly masterKey: Bytes; readonly documentKey: Bytes },
  metadata: Metadata,
): Promise<string> {
  assertReadable(Metadata, metadata);
  const prefix = concatBytes(
    Uint8Array.of(formatVersion),
    await wrapDocumentKey(masterKey, documentKey),
  );
  const key = await deriveGcmKey(documentKey, metadataLabel);
  const json = utf8ToBytes(JSON.stringify(metadata));
  const length = Math.ceil(json.length / paddingBytes) * paddingBytes;
  return encodeBase64(concatBytes(prefix, await encryptGcm(key, padJson(json, length), prefix)));
}

/**
 * Decrypts what `encryptMetadata` returned. Throws invalid_metadata for a wrong key, an unknown
 * format version or changed data.
 */
export async function decryptMetadata(
  masterKey: Bytes,
  encryptedMetadata: string,
): Promise<{ readonly documentKey: Bytes; readonly metadata: Metadata }> {
  try {
    const bytes = decode(encryptedMetadata);
    const documentKey = await unwrapDocumentKey(masterKey, bytes.slice(1, prefixBytes));
    return { documentKey, metadata: await decryptText(documentKey, bytes) };
  } catch (cause) {
    throw new ClientError('invalid_metadata', { cause });
  }
}

/**
 * Decrypts metadata with the document key, as the recipient of a share does. Throws what
 * `decryptMetadata` throws.
 */
export async function openMetadata(
  documentKey: Bytes,
  encryptedMetadata: string,
): Promise<Metadata> {
  try {
    return await decryptText(documentKey, decode(encryptedMetadata));
  } catch (cause) {
    throw new ClientError('invalid_metadata', { cause });
  }
}

function decode(encryptedMetadata: string): Bytes {
  const bytes = decodeBase64(encryptedMetadata);
  if (bytes[0] !== formatVersion || bytes.length < prefixBytes + nonceBytes + tagBytes) {
    throw new RangeError('The metadata has an unknown version or is too short.');
  }
  return bytes;
}

async function decryptText(documentKey: Bytes, bytes: Bytes): Promise<Metadata> {
  const key = await deriveGcmKey(documentKey, metadataLabel);
  const prefix = bytes.slice(0, prefixBytes);
  return Metadata.parse(parseJson(await decryptGcm(key, bytes.slice(prefixBytes), prefix)));
}
