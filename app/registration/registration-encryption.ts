import type { Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import { countRows, isStale, type EncryptedTable } from '../encryption/reencryption.ts';
import type { RowName } from '../encryption/row-cipher.ts';

/** Names the row of a registration for the cipher. */
export function registrationRow(id: string, userId: string): RowName {
  return { table: 'registrations', key: [id, userId] };
}

/** The registrations of accounts that are not validated yet. */
export const encryptedRegistrations: EncryptedTable<'salt' | 'verifier'> = {
  async lockStale(tx, earlier, limit) {
    takesLock(tx, 'account');
    const rows = await selectStale(tx, earlier)
      .select(['id', 'account_id', 'key_generation', 'salt', 'verifier'])
      .limit(limit)
      .forNoKeyUpdate()
      .skipLocked()
      .execute();
    return rows.map(({ id, account_id: userId, key_generation: stored, ...values }) => ({
      row: registrationRow(id, userId),
      generation: stored,
      values,
    }));
  },

  countStale: (tx, earlier) => countRows(selectStale(tx, earlier)),

  async store(tx, { key: [id = '', userId = ''] }, { generation, values }) {
    await tx
      .updateTable('registrations')
      .set({ key_generation: generation, ...values })
      .where('id', '=', id)
      .where('account_id', '=', userId)
      .execute();
  },
};

function selectStale(tx: Tx, earlier: readonly number[]) {
  return tx.selectFrom('registrations').where(isStale(earlier));
}
