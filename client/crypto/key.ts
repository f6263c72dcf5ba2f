import { z } from 'zod';
import { decodeBase64 } from '../bytes/base64.ts';
import { Base64 } from '../bytes/base64-schema.ts';

/** Length in bytes of every key of the client, whether for AES-256, HMAC or X25519. */
export const keyBytes = 32;
/** Length in bytes of a key that AES-KW has wrapped. */
export const wrappedKeyBytes = keyBytes + 8;

/** Schema of a 32-byte key in base64, which it parses to bytes. */
export const Key = Base64(keyBytes).transform(decodeBase64);

/** Schema of a wrapped key in base64, which it leaves as text. */
export const WrappedKey = z.base64().length(4 * Math.ceil(wrappedKeyBytes / 3));
