import { concatBytes, randomBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { equalBytes } from '../bytes/bytes.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { deriveKey } from '../crypto/hkdf.ts';

const MAGIC = utf8ToBytes('PROBATIO');
const VERSION = 1;
const SALT_BYTES = 32;
const NONCE_PREFIX_BYTES = 7;
const COMMITMENT_LABEL = 'Service_File_Commitment_v1';

const SEGMENT_SIZE_OFFSET = MAGIC.length + 1;
const SALT_OFFSET = SEGMENT_SIZE_OFFSET + 4;
const NONCE_PREFIX_OFFSET = SALT_OFFSET + SALT_BYTES;
const COMMITMENT_OFFSET = NONCE_PREFIX_OFFSET + NONCE_PREFIX_BYTES;

export const HEADER_BYTES = COMMITMENT_OFFSET + 32;
export const DEFAULT_SEGMENT_BYTES = 1_048_576;
const MIN_SEGMENT_BYTES = 128;
/** A reader holds one segment in memory, so a file must not choose its size freely. */
const MAX_SEGMENT_BYTES = 16_777_216;

export interface FileHeader {
  /** The bytes as they stand in the file: the additional data of every chunk. */
  readonly encoded: Bytes;
  /** Encrypted bytes between two boundaries, the header counted into the first segment. */
  readonly segmentSize: number;
  readonly salt: Bytes;
  readonly noncePrefix: Bytes;
  /** Only one document key fits: without it GCM would let one file open in two ways. */
  readonly commitment: Bytes;
}

/** A header with fresh salt and nonce prefix. */
export async function createFileHeader(
  documentKey: Bytes,
  segmentSize: number = DEFAULT_SEGMENT_BYTES,
): Promise<FileHeader> {
  const salt = randomBytes(SALT_BYTES);
  const size = new Uint8Array(4);
  new DataView(size.buffer).setUint32(0, segmentSize);
  const commitment = await deriveKey(documentKey, COMMITMENT_LABEL, salt);
  return parseFileHeader(
    concatBytes(
      MAGIC,
      Uint8Array.of(VERSION),
      size,
      salt,
      randomBytes(NONCE_PREFIX_BYTES),
      commitment,
    ),
  );
}

/** Throws invalid_file unless these are the bytes of a header of this version. */
export function parseFileHeader(encoded: Bytes): FileHeader {
  const isOurs =
    encoded.length === HEADER_BYTES &&
    equalBytes(encoded.subarray(0, MAGIC.length), MAGIC) &&
    encoded[MAGIC.length] === VERSION;
  if (!isOurs) throw new ClientError('invalid_file');

  const view = new DataView(encoded.buffer, encoded.byteOffset, encoded.byteLength);
  const segmentSize = view.getUint32(SEGMENT_SIZE_OFFSET);
  if (segmentSize < MIN_SEGMENT_BYTES || segmentSize > MAX_SEGMENT_BYTES) {
    throw new ClientError('invalid_file');
  }
  return {
    encoded,
    segmentSize,
    salt: encoded.slice(SALT_OFFSET, NONCE_PREFIX_OFFSET),
    noncePrefix: encoded.slice(NONCE_PREFIX_OFFSET, COMMITMENT_OFFSET),
    commitment: encoded.slice(COMMITMENT_OFFSET),
  };
}

/** Throws wrong_key unless the file was encrypted under this document key. */
export async function verifyCommitment(documentKey: Bytes, header: FileHeader): Promise<void> {
  const commitment = await deriveKey(documentKey, COMMITMENT_LABEL, header.salt);
  if (!equalBytes(commitment, header.commitment)) throw new ClientError('wrong_key');
}
