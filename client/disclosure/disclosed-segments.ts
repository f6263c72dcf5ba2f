import type { Bytes } from '../bytes/bytes.ts';
import { createPieceReader } from '../bytes/piece-reader.ts';
import { contentSegmentRange } from '../content/layout.ts';
import { downloadFile, type DownloadDependencies } from '../downloads/download.ts';
import { ClientError } from '../errors/client-error.ts';
import type { StoredFile } from '../files/stored-file.ts';
import type { OpenedSegment, SegmentsOpening } from './opening.ts';
import { isOpenedSegment } from './verify-opening.ts';

/** The plaintext of a disclosed segment. */
export interface DisclosedSegment {
  readonly index: number;
  /** Where the segment begins in the file. */
  readonly offset: number;
  readonly bytes: Bytes;
}

/**
 * Downloads the plaintext of the segments of an opening, and holds one of them in memory. Throws
 * content_mismatch if the vault sends another file than that of the opening, and what
 * `downloadFile` throws.
 */
export async function* readDisclosedSegments(
  dependencies: DownloadDependencies,
  { file, opening }: { readonly file: StoredFile; readonly opening: SegmentsOpening },
  signal?: AbortSignal,
): AsyncGenerator<DisclosedSegment, void, void> {
  const rangeOf = ({ index }: OpenedSegment) => contentSegmentRange(index, opening.size);
  for (const run of findRuns(opening.segments)) {
    const [first] = run;
    const length = run.reduce((sum, segment) => sum + rangeOf(segment).length, 0);
    const range = { offset: rangeOf(first).offset, length };
    const pieces = length === 0 ? noPieces() : downloadFile(dependencies, file, { range, signal });
    const reader = createPieceReader(pieces);
    try {
      for (const segment of run) {
        const { offset, length } = rangeOf(segment);
        const bytes = await reader.take(length);
        const isOpened = await isOpenedSegment(segment, bytes, opening);
        if (!isOpened) throw new ClientError('content_mismatch');
        yield { index: segment.index, offset, bytes };
      }
    } finally {
      await reader.close();
    }
  }
}

type Run = [OpenedSegment, ...OpenedSegment[]];

/** Groups segments that follow each other in the file. */
function findRuns(segments: readonly OpenedSegment[]): Run[] {
  const runs: Run[] = [];
  for (const segment of segments) {
    const run = runs.at(-1);
    if (run?.at(-1)?.index === segment.index - 1) run.push(segment);
    else runs.push([segment]);
  }
  return runs;
}

async function* noPieces(): AsyncGenerator<Bytes, void, void> {}
