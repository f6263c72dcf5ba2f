import { z } from 'zod';
import { Hex32 } from '../content/content.ts';
import { countContentSegments } from '../content/layout.ts';
import { pathLength } from '../content/merkle.ts';
import { ClientError } from '../errors/client-error.ts';

/** Greatest number of segments that one opening discloses: 64 GiB. */
export const maxDisclosedSegments = 65_536;
/** Length of the longest path in the tree of a file of 2^53 bytes. */
const maxPathHashes = 33;

const Size = z.int().nonnegative();

/** Opens a content commitment as a whole: whoever has the file can compare it. */
const FullOpening = z.strictObject({
  v: z.literal(1),
  seed: Hex32,
  root: Hex32,
  sha256: Hex32,
  size: Size,
});
export type FullOpening = z.output<typeof FullOpening>;

const OpenedSegment = z.strictObject({
  /** Counts from 0. */
  index: z.int().nonnegative(),
  salt: Hex32,
  /** Audit path of the segment, bottom up. */
  path: z.array(Hex32).max(maxPathHashes),
});
export type OpenedSegment = z.output<typeof OpenedSegment>;

/** Opens a content commitment for chosen segments, and says nothing of the others. */
const SegmentsOpening = z
  .strictObject({
    v: z.literal(1),
    commitmentSalt: Hex32,
    whole: Hex32,
    root: Hex32,
    size: Size,
    segments: z.array(OpenedSegment).min(1).max(maxDisclosedSegments),
  })
  .refine(({ segments, size }) => areInOrder(segments) && areInTree(segments, size));
export type SegmentsOpening = z.output<typeof SegmentsOpening>;

/** The contents of opening.json. */
export const Opening = z.union([FullOpening, SegmentsOpening]);
export type Opening = z.output<typeof Opening>;

/**
 * Parses an opening. Throws invalid_opening unless each member has its form, every segment is one
 * of the file and has a path of the right length, and the segments are in ascending order.
 */
export function parseOpening(value: unknown): Opening {
  const { data, error } = Opening.safeParse(value);
  if (data === undefined) throw new ClientError('invalid_opening', { cause: error });
  return data;
}

/** Returns whether an opening is of chosen segments. */
export function isOfSegments(opening: Opening): opening is SegmentsOpening {
  return 'segments' in opening;
}

function areInOrder(segments: readonly OpenedSegment[]): boolean {
  return segments.every(({ index }, place) => index > (segments[place - 1]?.index ?? -1));
}

function areInTree(segments: readonly OpenedSegment[], size: number): boolean {
  const count = countContentSegments(size);
  return segments.every(
    ({ index, path }) => index < count && path.length === pathLength(index, count),
  );
}
