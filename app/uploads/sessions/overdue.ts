import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import { sessionColumns, type SessionRow } from './session-rows.ts';

interface ExpiryOptions {
  readonly outbox: Outbox;
  readonly now: Date;
  readonly limit: number;
}

/**
 * Expires overdue upload sessions that `tx` may see, the longest overdue first, and has their parts
 * removed. Skips sessions that another transaction has locked. Returns the expired sessions.
 */
export async function expireOverdue(
  tx: Tx,
  { outbox, now, limit }: ExpiryOptions,
): Promise<SessionRow[]> {
  takesLock(tx, 'upload session');
  const rows = await tx
    .updateTable('upload_sessions')
    .set({ status: 'EXPIRED', completing_until: null })
    .where('id', 'in', () =>
      selectOverdue(tx, now)
        .select('id')
        .orderBy('expires_at')
        .limit(limit)
        .forUpdate()
        .skipLocked(),
    )
    .returning(sessionColumns)
    .execute();
  const uploads = rows.map((row) => ({ key: row.storage_key, uploadId: row.storage_upload_id }));
  await outbox.addAll(tx, 'multipart.abort', uploads);
  return rows;
}

/** Returns the event of an expired upload session. `expiredBy` is the name of the internal key. */
export function expiredEvent(row: SessionRow, expiredBy: string | null) {
  return {
    action: 'upload.expired',
    actor: { type: 'system', id: expiredBy },
    owner: { userId: row.user_id, tenantId: row.tenant_id },
    resource: { type: 'upload', id: row.id },
    data: { fileSize: row.file_size, wasCompleted: row.completed_at !== null },
  } as const;
}

/**
 * Selects open upload sessions that are not being completed and have reached their expiry time, by
 * the clock of this process and by that of Postgres.
 */
export function selectOverdue(tx: Tx, now: Date) {
  return tx
    .selectFrom('upload_sessions')
    .where('status', '=', sql.lit('IN_PROGRESS'))
    .where('expires_at', '<=', now)
    .where('expires_at', '<=', sql<Date>`now()`)
    .where(({ eb, or }) =>
      or([eb('completing_until', 'is', null), eb('completing_until', '<=', sql<Date>`now()`)]),
    );
}
