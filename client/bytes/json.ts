import type { Bytes } from './bytes.ts';

/** Pads JSON text with trailing spaces, which JSON parsers ignore, to `length` bytes. */
export function padJson(json: Bytes, length: number): Bytes {
  const padded = new Uint8Array(length).fill(0x20);
  padded.set(json);
  return padded;
}

/**
 * Parses JSON. Throws TypeError for bytes that are not UTF-8, SyntaxError for text that is not
 * JSON.
 */
export function parseJson(bytes: Bytes): unknown {
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
}
