import { createRowCipher } from '../../../app/encryption/row-cipher.ts';

/** A key of encryption for tests that start no vault. */
export const testKey = { generation: 1, key: Buffer.alloc(32, 7) };

/** Returns a cipher with `testKey` alone. */
export function createTestCipher() {
  return createRowCipher({ current: () => testKey, earlier: () => [], get: () => testKey.key });
}
