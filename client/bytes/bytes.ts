/** Bytes over a plain ArrayBuffer, the only kind that WebCrypto takes. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** Compares in a time that depends on the lengths alone. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (const [index, byte] of a.entries()) difference |= byte ^ (b[index] ?? 0);
  return difference === 0;
}

/**
 * Zeroes keys that nobody needs any more. The best that can be done: the engine may have moved a
 * buffer before, WebCrypto has copies of its own, and of a text nothing can be erased.
 */
export function wipe(...keys: readonly Uint8Array[]): void {
  for (const key of keys) key.fill(0);
}
