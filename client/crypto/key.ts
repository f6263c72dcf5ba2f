import { z } from 'zod';
import { decodeBase64 } from '../bytes/base64.ts';

/** Length of every key here, be it for AES-256, HMAC or X25519. */
export const keyBytes = 32;
/** Length of a key that AES-KW has wrapped. */
export const wrappedKeyBytes = keyBytes + 8;

/** A key in base64; the schema parses it to its bytes. */
export const Key = z
  .base64()
  .transform(decodeBase64)
  .refine((key) => key.length === keyBytes);

/** A wrapped key in base64. */
export const WrappedKey = z.base64().length(4 * Math.ceil(wrappedKeyBytes / 3));
