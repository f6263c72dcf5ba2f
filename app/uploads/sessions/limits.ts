/** Limits of the specification, in bytes. */
export const maxFileSize = 5 * 2 ** 30;
export const minPartSize = 5 * 2 ** 20;
export const maxPartSize = 100 * 2 ** 20;
export const maxParts = 1000;

/** Milliseconds for which a completed upload may wait to become a document. */
export const usableMs = 24 * 3_600_000;

/**
 * Returns the numbers of parts that can make up `fileSize` bytes, if the size of all but the last
 * is between the minimum and the maximum, and the last part has at least one byte.
 */
export function partCounts(fileSize: number): { readonly fewest: number; readonly most: number } {
  return {
    fewest: Math.ceil(fileSize / maxPartSize),
    most: Math.min(maxParts, Math.ceil(fileSize / minPartSize)),
  };
}
