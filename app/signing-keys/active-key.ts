import { sql, type RawBuilder } from 'kysely';

/**
 * Returns the SQL of a query, for use in a statement, for the key with this id if it is active. The
 * query locks the key until the transaction ends, so that the key is not retired before.
 */
export function lockActiveKey(keyId: string): RawBuilder<unknown> {
  return sql`
    select key_id from signing_keys where key_id = ${keyId} and state = 'ACTIVE' for share`;
}
