import { encryptedCredentials } from '../../accounts/credential-encryption.ts';
import { reencryptRows, type EncryptedTable } from '../../encryption/reencryption.ts';
import type { RowCipher } from '../../encryption/row-cipher.ts';
import { encryptedEnvelopes } from '../../envelopes/envelope-encryption.ts';
import { encryptedRegistrations } from '../../registration/registration-encryption.ts';
import { encryptedReplacedKeys } from '../../replaced-keys/rows/encryption.ts';
import { whileFull, type MaintenanceTask } from './task.ts';

const nothing = {
  reencryptedCredentials: 0,
  reencryptedRegistrations: 0,
  reencryptedEnvelopes: 0,
  reencryptedReplacedKeys: 0,
};

/** The rows of a batch, which a login waits for if it is among them: some 50 ms. */
const batchSize = 200;

const tables: Readonly<Record<keyof typeof nothing, EncryptedTable>> = {
  reencryptedCredentials: encryptedCredentials,
  reencryptedRegistrations: encryptedRegistrations,
  reencryptedEnvelopes: encryptedEnvelopes,
  reencryptedReplacedKeys: encryptedReplacedKeys,
};

/**
 * Creates the task that encrypts everything at rest with the current generation of the encryption
 * key, while the vault is in use. A run that was interrupted is continued by the next.
 */
export function createReencrypt(cipher: RowCipher): MaintenanceTask<'reencrypt', typeof nothing> {
  return {
    name: 'reencrypt',
    nothing,
    async *batches(_request, { dryRun }) {
      for (const [count, table] of Object.entries(tables)) {
        if (dryRun) {
          yield async (tx) => ({
            [count]: await table.countStale(tx, cipher.earlierGenerations()),
          });
        } else {
          yield* whileFull(batchSize, async (tx) => ({
            [count]: await reencryptRows(tx, cipher, table, batchSize),
          }));
        }
      }
    },
  };
}
