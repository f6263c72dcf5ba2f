import { sha3_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import type { SizedContent } from './content.ts';
import { deriveCommitmentSalt, deriveWholeSalt } from './salts.ts';

const wholeLabel = 'Service_Content_Whole_v1';
const commitmentLabel = 'Service_Content_Commitment_v1';

/** The values over which a content commitment is computed; binary ones in hex. */
export interface Commitments {
  readonly commitmentSalt: string;
  readonly root: string;
  /** The salted hash of the whole plaintext. */
  readonly whole: string;
  /** Size of the plaintext in bytes. */
  readonly size: number;
}

/** SHA3-256(label ‖ 0x00 ‖ commitmentSalt ‖ root ‖ whole ‖ size, 8 bytes big-endian), in hex. */
export function computeCommitment({ commitmentSalt, root, whole, size }: Commitments): string {
  const sizeBytes = new Uint8Array(8);
  new DataView(sizeBytes.buffer).setBigUint64(0, BigInt(size));
  const parts = [commitmentSalt, root, whole].map(hexToBytes);
  return hashLabelled(commitmentLabel, ...parts, sizeBytes);
}

/** Derives from the content of a file what its content commitment is computed over. */
export async function deriveCommitments({
  content: { seed, root, sha256 },
  size,
}: SizedContent): Promise<Commitments> {
  const bytes = hexToBytes(seed);
  const whole = hashLabelled(wholeLabel, await deriveWholeSalt(bytes), hexToBytes(sha256));
  return { commitmentSalt: bytesToHex(await deriveCommitmentSalt(bytes)), root, whole, size };
}

/**
 * Computes the content commitment of a version from its metadata: 64 hex digits, which the entry of
 * its seal carries as `contentCommitment`.
 */
export async function commitmentOf(metadata: SizedContent): Promise<string> {
  return computeCommitment(await deriveCommitments(metadata));
}

function hashLabelled(label: string, ...parts: readonly Bytes[]): string {
  return bytesToHex(sha3_256(concatBytes(utf8ToBytes(label), Uint8Array.of(0), ...parts)));
}
