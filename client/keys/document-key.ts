import { concatBytes, randomBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import { unwrapKey, wrapKey } from '../crypto/aes-kw.ts';
import { deriveKey } from '../crypto/hkdf.ts';
import { keyBytes } from '../crypto/key.ts';

const wrapLabel = 'Service_Document_Key_Wrap_v3';
const earlierLabel = 'Service_Earlier_Document_Key_v1';
const versionLabel = 'Service_Version_Key_v1';
const fileLabel = 'Service_File_Key_v1';

/** One version of one document. */
export interface VersionName {
  /** UUID of the document. */
  readonly documentId: string;
  /** Number of the version, from 1. */
  readonly version: number;
}

/**
 * A key by which somebody reads a document: the key of the document, from which those of all
 * versions derive, or the key of one version.
 */
export type ReadingKey = { readonly documentKey: Bytes } | { readonly versionKey: Bytes };

/**
 * Creates the key of a document, 32 bytes. The keys of all versions until the next rekey are
 * derived from it, and a share passes it to the recipient.
 */
export function createDocumentKey(): Bytes {
  return randomBytes(keyBytes);
}

/**
 * Wraps the key of a document under the master key: `wrappedKeyBytes` bytes.
 * @param context the bytes without which the key does not unwrap, which are so authenticated for
 *   the owner
 */
export async function wrapDocumentKey(
  masterKey: Bytes,
  context: Bytes,
  documentKey: Bytes,
): Promise<Bytes> {
  return wrapKey(await deriveKey(masterKey, wrapLabel, context), documentKey);
}

/** Unwraps a document key. Throws invalid_envelope for a wrong master key or another context. */
export async function unwrapDocumentKey(
  masterKey: Bytes,
  context: Bytes,
  wrapped: Bytes,
): Promise<Bytes> {
  return unwrapKey(await deriveKey(masterKey, wrapLabel, context), wrapped);
}

/** Wraps the key that a document had before under its present key: `wrappedKeyBytes` bytes. */
export async function wrapEarlierKey(
  documentKey: Bytes,
  documentId: string,
  earlierKey: Bytes,
): Promise<Bytes> {
  return wrapKey(await deriveKey(documentKey, earlierLabel, encodeId(documentId)), earlierKey);
}

/** Unwraps what `wrapEarlierKey` returned. Throws invalid_envelope. */
export async function unwrapEarlierKey(
  documentKey: Bytes,
  documentId: string,
  wrapped: Bytes,
): Promise<Bytes> {
  return unwrapKey(await deriveKey(documentKey, earlierLabel, encodeId(documentId)), wrapped);
}

/** Derives the key of one version, which opens the metadata and the file of that version. */
export function deriveVersionKey(
  documentKey: Bytes,
  { documentId, version }: VersionName,
): Promise<Bytes> {
  return deriveKey(documentKey, versionLabel, encodeVersion({ documentId, version }));
}

/**
 * Returns the key of one version. The key of another version than `name` is returned as it is, and
 * opens nothing of `name`.
 */
export async function versionKeyOf(key: ReadingKey, name: VersionName): Promise<Bytes> {
  return 'versionKey' in key ? key.versionKey : deriveVersionKey(key.documentKey, name);
}

/** Derives the key of the file of one version. */
export async function deriveFileKey(key: ReadingKey, name: VersionName): Promise<Bytes> {
  return deriveKey(await versionKeyOf(key, name), fileLabel);
}

/** Encodes the id of a document, 36 characters, and the number of a version, big-endian. */
export function encodeVersion({ documentId, version }: VersionName): Bytes {
  const number = new Uint8Array(4);
  new DataView(number.buffer).setUint32(0, version);
  return concatBytes(encodeId(documentId), number);
}

/** Encodes the id of a document: 36 characters in lower case. */
export function encodeId(documentId: string): Bytes {
  return utf8ToBytes(documentId.toLowerCase());
}
