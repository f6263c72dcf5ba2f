import type { Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import { countRows, isStale, type EncryptedTable } from '../encryption/reencryption.ts';
import { passwordRow } from './credential-rows.ts';

/** The credentials of passwords; those of recovery words are not encrypted. */
export const encryptedCredentials: EncryptedTable<'salt' | 'verifier'> = {
  async lockStale(tx, earlier, limit) {
    takesLock(tx, 'account');
    const rows = await selectStale(tx, earlier)
      .select(['account_id', 'key_generation', 'salt', 'verifier'])
      .limit(limit)
      .forNoKeyUpdate()
      .skipLocked()
      .execute();
    return rows.map(({ account_id: userId, key_generation: stored, ...values }) => ({
      row: passwordRow(userId),
      generation: stored,
      values,
    }));
  },

  countStale: (tx, earlier) => countRows(selectStale(tx, earlier)),

  async store(tx, { key: [userId = ''] }, { generation, values }) {
    await tx
      .updateTable('credentials')
      .set({ key_generation: generation, ...values })
      .where('account_id', '=', userId)
      .where('method', '=', 'password')
      .execute();
  },
};

function selectStale(tx: Tx, earlier: readonly number[]) {
  return tx.selectFrom('credentials').where('method', '=', 'password').where(isStale(earlier));
}
