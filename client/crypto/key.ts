import { z } from 'zod';
import { decodeBase64 } from '../bytes/base64.ts';

/** Of every key here, whether of AES-256, HMAC or X25519. */
export const keyBytes = 32;
/** Of a key that AES-KW has wrapped. */
export const wrappedKeyBytes = keyBytes + 8;

/** A key as text: base64. Parses to its bytes. */
export const Key = z
  .base64()
  .transform(decodeBase64)
  .refine((key) => key.length === keyBytes);

/** A wrapped key as text: base64. */
export const WrappedKey = z.base64().length(4 * Math.ceil(wrappedKeyBytes / 3));
