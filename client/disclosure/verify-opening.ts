import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import { computeCommitment, deriveCommitments } from '../content/commitment.ts';
import { createContentHasher } from '../content/content-hasher.ts';
import { contentSegmentRange, countContentSegments } from '../content/layout.ts';
import { rootOfPath } from '../content/merkle.ts';
import { hashSegment } from '../content/segment-hash.ts';
import type { CreateHash } from '../crypto/hash.ts';
import type { ByteSource } from '../files/byte-source.ts';
import {
  isOfSegments,
  Opening,
  type FullOpening,
  type OpenedSegment,
  type SegmentsOpening,
} from './opening.ts';

/** Why a file is not what an opening says of a content commitment. */
export type OpeningDefect =
  /** The opening is not of the form that `parseOpening` accepts. */
  | 'opening_malformed'
  /** The opening is of another content commitment. */
  | 'other_commitment'
  /** The file has another size. */
  | 'other_size'
  /** The file has other bytes. */
  | 'other_content'
  /** A segment of the file has other bytes, or is not where the opening says. */
  | 'other_segment';

/** Bytes of a file. */
export interface ProvenRange {
  readonly offset: number;
  readonly length: number;
}

/** The proven part of a file: all of it, or only these ranges, one for each disclosed segment. */
export type Proven =
  | { readonly kind: 'whole' }
  | { readonly kind: 'segments'; readonly ranges: readonly ProvenRange[] };

export type OpeningVerdict =
  | { readonly valid: true; readonly proven: Proven }
  | {
      readonly valid: false;
      readonly reason: OpeningDefect;
      /** The index of the segment, for other_segment. */
      readonly segment?: number;
    };

export interface OpenedFile {
  /** The content commitment, 64 hex digits. */
  readonly commitment: string;
  /** A file of the full size; for an opening of segments, its other bytes may be anything. */
  readonly source: ByteSource;
  readonly createHash: CreateHash;
}

/**
 * Verifies that a file is what a content commitment speaks of. Never throws, whatever the opening
 * holds; an error of `source` is thrown as it is.
 */
export async function verifyOpening(value: unknown, file: OpenedFile): Promise<OpeningVerdict> {
  const opening = Opening.safeParse(value).data;
  if (opening === undefined) return refuse('opening_malformed');
  if ((await commitmentOfOpening(opening)) !== file.commitment) return refuse('other_commitment');
  if (file.source.size !== opening.size) return refuse('other_size');
  return isOfSegments(opening) ? verifySegments(opening, file) : verifyWhole(opening, file);
}

async function commitmentOfOpening(opening: Opening): Promise<string> {
  if (isOfSegments(opening)) return computeCommitment(opening);
  return computeCommitment(await deriveCommitments({ content: opening, size: opening.size }));
}

async function verifyWhole(
  { seed, root, sha256, size }: FullOpening,
  { source, createHash }: OpenedFile,
): Promise<OpeningVerdict> {
  const hasher = await createContentHasher({ createHash, seed: hexToBytes(seed) });
  for (let index = 0; index < countContentSegments(size); index += 1) {
    const segment = await readSegment(source, index, size);
    if (segment === undefined) return refuse('other_size');
    await hasher.update(segment);
  }
  const { content } = await hasher.finish();
  if (content.root !== root || content.sha256 !== sha256) return refuse('other_content');
  return { valid: true, proven: { kind: 'whole' } };
}

async function verifySegments(
  opening: SegmentsOpening,
  { source }: OpenedFile,
): Promise<OpeningVerdict> {
  const { segments, size } = opening;
  for (const opened of segments) {
    const segment = await readSegment(source, opened.index, size);
    if (segment === undefined) return refuse('other_size');
    if (!(await isOpenedSegment(opened, segment, opening))) {
      return { valid: false, reason: 'other_segment', segment: opened.index };
    }
  }
  const ranges = segments.map(({ index }) => contentSegmentRange(index, size));
  return { valid: true, proven: { kind: 'segments', ranges } };
}

/** Resolves with whether the bytes are those of a segment of an opening. */
export async function isOpenedSegment(
  { index, salt, path }: OpenedSegment,
  bytes: Bytes,
  { root, size }: SegmentsOpening,
): Promise<boolean> {
  const leaf = await hashSegment(hexToBytes(salt), bytes);
  const place = { index, count: countContentSegments(size), path: path.map(hexToBytes) };
  const head = rootOfPath(leaf, place);
  return head !== undefined && bytesToHex(head) === root;
}

/** Resolves with undefined if the source has become shorter. */
async function readSegment(
  source: ByteSource,
  index: number,
  size: number,
): Promise<Bytes | undefined> {
  const { offset, length } = contentSegmentRange(index, size);
  const segment = await source.read(offset, length);
  return segment.length === length ? segment : undefined;
}

function refuse(reason: OpeningDefect): OpeningVerdict {
  return { valid: false, reason };
}
