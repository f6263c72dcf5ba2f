import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
import { countRows, isStale, type EncryptedTable } from '../../encryption/reencryption.ts';
import { replacedRow } from './replaced-keys.ts';

/** The master envelopes that were replaced; other replaced keys are not encrypted. */
export const encryptedReplacedKeys: EncryptedTable<'wrappedKey'> = {
  async lockStale(tx, earlier, limit) {
    takesLock(tx, 'replaced key');
    const rows = await selectStale(tx, earlier)
      .select(['id', 'user_id', 'key_generation', 'wrapped_key'])
      .limit(limit)
      .forNoKeyUpdate()
      .skipLocked()
      .execute();
    return rows.map((row) => ({
      row: replacedRow(row),
      generation: row.key_generation,
      values: { wrappedKey: row.wrapped_key },
    }));
  },

  countStale: (tx, earlier) => countRows(selectStale(tx, earlier)),

  async store(tx, { key: [id = '', userId = ''] }, { generation, values }) {
    await tx
      .updateTable('replaced_keys')
      .set({ key_generation: generation, wrapped_key: values.wrappedKey })
      .where('id', '=', id)
      .where('user_id', '=', userId)
      .execute();
  },
};

function selectStale(tx: Tx, earlier: readonly number[]) {
  return tx
    .selectFrom('replaced_keys')
    .where('kind', '=', sql.lit('MASTER' as const))
    .where(isStale(earlier));
}
