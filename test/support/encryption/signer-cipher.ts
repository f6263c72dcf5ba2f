import { createRowCipher, type RowCipher } from '../../../app/encryption/row-cipher.ts';
import { createSignerClient } from '../../../signer/protocol/client.ts';

/** Returns the cipher of a new vault on this signer: with the newest generation of its token. */
export async function createSignerCipher(socketPath: string): Promise<RowCipher> {
  const signer = createSignerClient({ socketPath });
  try {
    const newest = await signer.encryptionKey();
    return createRowCipher({ current: () => newest, earlier: () => [], get: () => newest.key });
  } finally {
    signer.close();
  }
}
