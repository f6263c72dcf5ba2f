/** Bytes over a plain ArrayBuffer, which is the only kind that WebCrypto accepts. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** Compares bytes in constant time; only the lengths affect the duration. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (const [index, byte] of a.entries()) difference |= byte ^ (b[index] ?? 0);
  return difference === 0;
}

/**
 * Zeroes keys that are no longer needed. This is best effort: the engine may have copied a buffer
 * before, WebCrypto keeps copies of its own, and strings cannot be erased.
 */
export function wipe(...keys: readonly Uint8Array[]): void {
  for (const key of keys) key.fill(0);
}
