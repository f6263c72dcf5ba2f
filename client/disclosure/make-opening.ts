import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import { deriveCommitments } from '../content/commitment.ts';
import type { SizedContent } from '../content/content.ts';
import { countContentSegments } from '../content/layout.ts';
import { createTree } from '../content/merkle.ts';
import { deriveSegmentSalt } from '../content/salts.ts';
import { ClientError } from '../errors/client-error.ts';
import {
  maxDisclosedSegments,
  type FullOpening,
  type OpenedSegment,
  type SegmentsOpening,
} from './opening.ts';

/**
 * Opens the content commitment of a version as a whole, from its metadata alone. Whoever gets the
 * opening can also test guesses of the file.
 */
export function makeFullOpening({ content, size }: SizedContent): FullOpening {
  const { seed, root, sha256 } = content;
  return { v: 1, seed, root, sha256, size };
}

/**
 * Opens the content commitment for chosen segments. `leaves` are the hashes of all segments of the
 * file. Throws content_mismatch unless they are those of the metadata.
 */
export async function makeSegmentsOpening(
  metadata: SizedContent,
  leaves: readonly Bytes[],
  indexes: readonly number[],
): Promise<SegmentsOpening> {
  const tree = createTree(leaves);
  const commitments = await deriveCommitments(metadata);
  if (bytesToHex(tree.root) !== commitments.root) throw new ClientError('content_mismatch');
  const seed = hexToBytes(metadata.content.seed);
  const segments: OpenedSegment[] = [];
  for (const index of indexes) {
    const salt = bytesToHex(await deriveSegmentSalt(seed, index));
    segments.push({ index, salt, path: tree.path(index).map((hash) => bytesToHex(hash)) });
  }
  return { v: 1, ...commitments, segments };
}

/**
 * Returns the indexes in ascending order. Throws RangeError unless there is at least one, and each
 * is the index of another segment of a file of `size` bytes.
 */
export function sortIndexes(indexes: readonly number[], size: number): number[] {
  const count = countContentSegments(size);
  const areOfFile = indexes.every(
    (index) => Number.isInteger(index) && 0 <= index && index < count,
  );
  const areDistinct = new Set(indexes).size === indexes.length;
  if (!areOfFile || !areDistinct || indexes.length === 0) {
    throw new RangeError(
      `Choose segments of the file by their indexes, 0 to ${count - 1}, once each.`,
    );
  }
  if (indexes.length > maxDisclosedSegments) {
    throw new RangeError(`Choose at most ${maxDisclosedSegments} segments, or disclose the file.`);
  }
  return indexes.toSorted((one, other) => one - other);
}
