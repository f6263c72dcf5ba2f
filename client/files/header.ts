import { concatBytes, randomBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { equalBytes, type Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { deriveKey } from '../crypto/hkdf.ts';

const magic = utf8ToBytes('PROBATIO');
const formatVersion = 1;
const saltBytes = 32;
const noncePrefixBytes = 7;
const commitmentLabel = 'Service_File_Commitment_v1';

const segmentSizeOffset = magic.length + 1;
const saltOffset = segmentSizeOffset + 4;
const noncePrefixOffset = saltOffset + saltBytes;
const commitmentOffset = noncePrefixOffset + noncePrefixBytes;

export const headerBytes = commitmentOffset + 32;
export const defaultSegmentBytes = 1_048_576;
const minSegmentBytes = 128;
/** A reader holds one segment in memory, so the segment size of a file is limited. */
const maxSegmentBytes = 16_777_216;

export interface FileHeader {
  /**
   * The header in the encoding of the file, which is the additional authenticated data of every
   * chunk.
   */
  readonly encoded: Bytes;
  /** Encrypted bytes per segment; the header counts as part of the first segment. */
  readonly segmentSize: number;
  /** HKDF salt of the file's chunk key, 32 bytes. */
  readonly salt: Bytes;
  /** The first 7 bytes of every nonce. */
  readonly noncePrefix: Bytes;
  /**
   * Commitment to one file key, 32 bytes. Without it, GCM would allow a file that decrypts
   * under two keys.
   */
  readonly commitment: Bytes;
}

/** Creates a header with a random salt and nonce prefix. */
export async function createFileHeader(
  fileKey: Bytes,
  segmentSize: number = defaultSegmentBytes,
): Promise<FileHeader> {
  const salt = randomBytes(saltBytes);
  const size = new Uint8Array(4);
  new DataView(size.buffer).setUint32(0, segmentSize);
  const commitment = await deriveKey(fileKey, commitmentLabel, salt);
  return parseFileHeader(
    concatBytes(
      magic,
      Uint8Array.of(formatVersion),
      size,
      salt,
      randomBytes(noncePrefixBytes),
      commitment,
    ),
  );
}

/** Parses a header. Throws invalid_file unless the bytes are a header of this version. */
export function parseFileHeader(encoded: Bytes): FileHeader {
  const isOurs =
    encoded.length === headerBytes &&
    equalBytes(encoded.subarray(0, magic.length), magic) &&
    encoded[magic.length] === formatVersion;
  if (!isOurs) throw new ClientError('invalid_file');

  const view = new DataView(encoded.buffer, encoded.byteOffset, encoded.byteLength);
  const segmentSize = view.getUint32(segmentSizeOffset);
  if (segmentSize < minSegmentBytes || segmentSize > maxSegmentBytes) {
    throw new ClientError('invalid_file');
  }
  return {
    encoded,
    segmentSize,
    salt: encoded.slice(saltOffset, noncePrefixOffset),
    noncePrefix: encoded.slice(noncePrefixOffset, commitmentOffset),
    commitment: encoded.slice(commitmentOffset),
  };
}

/** Throws wrong_key unless the file was encrypted under this file key. */
export async function verifyCommitment(fileKey: Bytes, header: FileHeader): Promise<void> {
  const commitment = await deriveKey(fileKey, commitmentLabel, header.salt);
  if (!equalBytes(commitment, header.commitment)) throw new ClientError('wrong_key');
}
