import { maxPartSize, minPartSize } from '../sessions/limits.ts';
import type { SessionRow } from '../sessions/session-rows.ts';

/** The declared size and number of parts of an upload session. */
export interface DeclaredFile {
  /** Bytes. */
  readonly fileSize: number;
  readonly totalParts: number;
}

/** The parts whose sizes are settled: parts that are recorded, or are being received. */
export interface SettledParts {
  readonly count: number;
  readonly bytes: number;
  readonly hasLast: boolean;
}

/** An inclusive range of sizes in bytes. It is empty if `smallest` is above `largest`. */
export interface SizeRange {
  readonly smallest: number;
  readonly largest: number;
}

/** Returns what an upload session declares of its file. */
export function declaredFile(session: SessionRow): DeclaredFile {
  return { fileSize: session.file_size, totalParts: session.total_parts };
}

/** Returns whether the parts that are not settled yet can still make up the file. */
export function canAddUp(file: DeclaredFile, settled: SettledParts): boolean {
  const left = file.fileSize - settled.bytes;
  const { smallest, largest } = bytesOfMissing(file, settled);
  return smallest <= left && left <= largest;
}

/**
 * Returns the sizes that a part can have if the other parts are `others`: with any other size, no
 * sizes of the missing parts would make up the file.
 */
export function sizesThatFit(
  file: DeclaredFile,
  partNumber: number,
  others: SettledParts,
): SizeRange {
  const isLast = partNumber === file.totalParts;
  const left = file.fileSize - others.bytes;
  const missing = bytesOfMissing(file, {
    ...others,
    count: others.count + 1,
    hasLast: others.hasLast || isLast,
  });
  return {
    smallest: Math.max(isLast ? 1 : minPartSize, left - missing.largest),
    largest: Math.min(maxPartSize, left - missing.smallest),
  };
}

/** Returns the bytes that all missing parts can have together. Only the last part may be small. */
function bytesOfMissing({ totalParts }: DeclaredFile, { count, hasLast }: SettledParts): SizeRange {
  const missing = totalParts - count;
  return {
    smallest: hasLast ? missing * minPartSize : (missing - 1) * minPartSize + 1,
    largest: missing * maxPartSize,
  };
}
