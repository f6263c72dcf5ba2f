import { sql } from 'kysely';
import type { Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import { countRows, isStale, type EncryptedTable } from '../encryption/reencryption.ts';
import { envelopeRow } from './rows.ts';

/** The master envelopes; those of recovery words and devices are not encrypted. */
export const encryptedEnvelopes: EncryptedTable<'wrappedKey'> = {
  async lockStale(tx, earlier, limit) {
    takesLock(tx, 'master envelope');
    const rows = await selectStale(tx, earlier)
      .select(['id', 'user_id', 'key_generation', 'encrypted_envelope'])
      .limit(limit)
      .forNoKeyUpdate()
      .skipLocked()
      .execute();
    return rows.map((row) => ({
      row: envelopeRow(row),
      generation: row.key_generation,
      values: { wrappedKey: row.encrypted_envelope },
    }));
  },

  countStale: (tx, earlier) => countRows(selectStale(tx, earlier)),

  async store(tx, { key: [id = '', userId = ''] }, { generation, values }) {
    await tx
      .updateTable('key_envelopes')
      .set({ key_generation: generation, encrypted_envelope: values.wrappedKey })
      .where('id', '=', id)
      .where('user_id', '=', userId)
      .execute();
  },
};

function selectStale(tx: Tx, earlier: readonly number[]) {
  return tx
    .selectFrom('key_envelopes')
    .where('kind', '=', sql.lit('MASTER' as const))
    .where(isStale(earlier));
}
