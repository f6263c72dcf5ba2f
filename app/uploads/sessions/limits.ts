import { AppError } from '../../errors/app-error.ts';

/** Limits of the specification, in bytes. */
export const maxFileSize = 5 * 2 ** 30;
export const minPartSize = 5 * 2 ** 20;
export const maxPartSize = 100 * 2 ** 20;
export const maxParts = 1000;

/** Milliseconds for which a completed upload may wait to become a document. */
export const usableMs = 24 * 3_600_000;

/**
 * Returns whether `totalParts` parts can make up `fileSize` bytes, if the size of all but the last
 * is between the minimum and the maximum, and the last part has at least one byte.
 */
export function partsFit(fileSize: number, totalParts: number): boolean {
  return (totalParts - 1) * minPartSize < fileSize && fileSize <= totalParts * maxPartSize;
}

/** Checks the number and size of a part. Throws invalid_part_number or invalid_part_size. */
export function assertPart(partNumber: number, size: number, totalParts: number): void {
  if (partNumber > totalParts) throw new AppError('invalid_part_number');
  const smallest = partNumber === totalParts ? 1 : minPartSize;
  if (size < smallest || size > maxPartSize) throw new AppError('invalid_part_size');
}
