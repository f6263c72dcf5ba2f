import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';

/** Which of these keys are those of open sessions, each with the upload that the session has. */
export async function findOpenUploads(
  tx: Tx,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (keys.length === 0) return new Map();
  const rows = await tx
    .selectFrom('upload_sessions')
    .select(['storage_key', 'storage_upload_id'])
    .where('storage_key', 'in', keys)
    .where('status', '=', 'IN_PROGRESS')
    .execute();
  return new Map(rows.map((row) => [row.storage_key, row.storage_upload_id]));
}

/** Which of these keys are, or may yet become, those of files: of sessions, or of versions of documents. */
export async function findFiles(tx: Tx, keys: readonly string[]): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set();
  const rows = await tx
    .selectFrom('upload_sessions')
    .select('storage_key')
    .where('storage_key', 'in', keys)
    .where('status', 'in', ['IN_PROGRESS', 'COMPLETED'])
    .union(
      tx.selectFrom('document_versions').select('storage_key').where('storage_key', 'in', keys),
    )
    .execute();
  return new Set(rows.map((row) => row.storage_key));
}

/** Until the transaction ends, nobody changes what their sessions are. */
export async function lockSessionsOf(tx: Tx, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await tx
    .selectFrom('upload_sessions')
    .select('id')
    .where('storage_key', 'in', keys)
    .orderBy('id')
    .forUpdate()
    .execute();
}

/** Which of these keys wait in the outbox already. */
export async function findPromised(
  tx: Tx,
  kind: 'multipart.abort' | 'object.delete',
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ key: string }>`
    select payload::json->>'key' as key from outbox
    where kind = ${kind} and payload::json->>'key' = any(${keys}::text[])`.execute(tx);
  return new Set(rows.map(({ key }) => key));
}
