import type { Bytes } from './bytes.ts';

/** Spaces after JSON mean nothing, so they serve as padding up to `length` bytes. */
export function padJson(json: Bytes, length: number): Bytes {
  const padded = new Uint8Array(length).fill(0x20);
  padded.set(json);
  return padded;
}

/** Throws TypeError for what is no UTF-8, SyntaxError for what is no JSON. */
export function parseJson(bytes: Bytes): unknown {
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
}
