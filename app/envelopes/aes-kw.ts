import { createCipheriv } from 'node:crypto';

/** RFC 3394 §2.2.3.1. */
const initialValue = Buffer.alloc(8, 0xa6);

/** AES key wrap under a key of 32 bytes (RFC 3394): 8 bytes longer than what is wrapped. */
export function wrapKey(wrappingKey: Buffer, key: Buffer): Buffer {
  const cipher = createCipheriv('id-aes256-wrap', wrappingKey, initialValue);
  return Buffer.concat([cipher.update(key), cipher.final()]);
}
