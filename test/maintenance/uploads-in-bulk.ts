import { randomUUID } from 'node:crypto';
import type { Sql } from '../support/vault/sql.ts';

/**
 * Inserts expired open upload sessions of one user, whose uploads the store does not have. Resolves
 * with the user's id.
 */
export async function insertOverdue(sql: Sql, count: number): Promise<string> {
  const userId = randomUUID();
  await sql(
    `insert into upload_sessions (id, user_id, tenant_id, file_name, file_size, mime_type,
       total_parts, storage_key, storage_upload_id, expires_at)
     select gen_random_uuid(), $1, 'default', 'a', 1, 'application/octet-stream', 1,
       gen_random_uuid() || '/a', gen_random_uuid(), now() - n * interval '1 second'
     from generate_series(1, $2::int) n`,
    [userId, count],
  );
  return userId;
}
