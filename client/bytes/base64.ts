import type { Bytes } from './bytes.ts';

const charactersAtOnce = 8192;

/** Standard base64 with padding (RFC 4648 §4). */
export function encodeBase64(bytes: Uint8Array): string {
  let binary = '';
  for (let offset = 0; offset < bytes.length; offset += charactersAtOnce) {
    binary += String.fromCharCode(...bytes.subarray(offset, offset + charactersAtOnce));
  }
  return btoa(binary);
}

/**
 * Takes only what `encodeBase64` makes: no white space, no missing padding, no stray bits at the
 * end, so that one value has one text. Throws SyntaxError otherwise.
 */
export function decodeBase64(text: string): Bytes {
  let binary: string;
  try {
    binary = atob(text);
  } catch (cause) {
    throw new SyntaxError('not base64', { cause });
  }
  if (btoa(binary) !== text) throw new SyntaxError('not canonical base64');
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
