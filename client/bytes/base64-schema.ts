import { z } from 'zod';
import { decodeBase64 } from './base64.ts';

/** Schema of canonical base64 of exactly `size` bytes, which it leaves as text. */
export function Base64(size: number) {
  return z
    .string()
    .length(4 * Math.ceil(size / 3))
    .refine((text) => encodes(text, size));
}

function encodes(text: string, size: number): boolean {
  try {
    return decodeBase64(text).length === size;
  } catch {
    return false;
  }
}
