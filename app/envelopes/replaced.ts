import { v7 as uuidv7 } from 'uuid';
import { findRecovery } from '../accounts/credential-rows.ts';
import type { Owner, Tx } from '../db/database.ts';
import type { RowCipher } from '../encryption/row-cipher.ts';
import { keepReplaced, replacedRow } from '../replaced-keys/rows/replaced-keys.ts';
import { wrappedKeyOf, type EnvelopeRow } from './rows.ts';

/**
 * Keeps a locked master or recovery envelope that the transaction is about to replace; a recovery
 * envelope together with the credential for recovery logins, without which its words would be of no
 * use. A recovery envelope needs a transaction of the service login. Throws quota_exceeded.
 */
export async function keepEnvelope(
  tx: Tx,
  cipher: RowCipher,
  owner: Owner,
  envelope: EnvelopeRow,
  now: Date,
): Promise<void> {
  const { kind, version } = envelope;
  const common = { id: uuidv7(), version, replaced_at: now };
  const wrappedKey = wrappedKeyOf(cipher, envelope);
  switch (kind) {
    case 'DEVICE':
      throw new TypeError('device envelopes are not kept');
    case 'MASTER': {
      const row = replacedRow({ id: common.id, user_id: owner.userId });
      const { generation, values } = cipher.encrypt(row, { wrappedKey });
      const encrypted = { key_generation: generation, wrapped_key: values.wrappedKey };
      return keepReplaced(tx, owner, { ...common, ...encrypted, kind });
    }
    case 'RECOVERY': {
      const credential = await findRecovery(tx, owner);
      return keepReplaced(tx, owner, { ...common, ...credential, kind, wrapped_key: wrappedKey });
    }
  }
}
