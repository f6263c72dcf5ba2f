import { createCipheriv } from 'node:crypto';

/** The default initial value (RFC 3394 §2.2.3.1). */
const initialValue = Buffer.alloc(8, 0xa6);

/** Wraps a key under a key of 32 bytes (AES key wrap, RFC 3394); the result is 8 bytes longer. */
export function wrapKey(wrappingKey: Buffer, key: Buffer): Buffer {
  const cipher = createCipheriv('id-aes256-wrap', wrappingKey, initialValue);
  return Buffer.concat([cipher.update(key), cipher.final()]);
}
