import type { Bytes } from './bytes.ts';

const charactersAtOnce = 8192;

/** Encodes standard base64 with padding (RFC 4648 §4). */
export function encodeBase64(bytes: Uint8Array): string {
  let binary = '';
  for (let offset = 0; offset < bytes.length; offset += charactersAtOnce) {
    binary += String.fromCharCode(...bytes.subarray(offset, offset + charactersAtOnce));
  }
  return btoa(binary);
}

/**
 * Decodes base64. Accepts only what `encodeBase64` returns (no white space, no missing padding, no
 * stray bits at the end), so that a value has one encoding. Throws SyntaxError for anything else.
 */
export function decodeBase64(text: string): Bytes {
  let binary: string;
  try {
    binary = atob(text);
  } catch (cause) {
    throw new SyntaxError('The text is not base64.', { cause });
  }
  if (btoa(binary) !== text) throw new SyntaxError('The text is not canonical base64.');
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
