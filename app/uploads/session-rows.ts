import type { Selectable } from 'kysely';
import type { Tx } from '../db/database.ts';
import type { Schema } from '../db/schema.ts';
import { AppError } from '../errors.ts';

export type SessionRow = Selectable<Schema['upload_sessions']>;

/** The caller's session, locked until the transaction ends. Throws not_found. */
export async function lockSession(tx: Tx, sessionId: string): Promise<SessionRow> {
  const row = await tx
    .selectFrom('upload_sessions')
    .selectAll()
    .where('id', '=', sessionId)
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined) throw new AppError('not_found');
  return row;
}

/** The caller's session. Throws not_found. */
export async function loadSession(tx: Tx, sessionId: string): Promise<SessionRow> {
  const row = await tx
    .selectFrom('upload_sessions')
    .selectAll()
    .where('id', '=', sessionId)
    .executeTakeFirst();
  if (row === undefined) throw new AppError('not_found');
  return row;
}

/** Throws session_expired, in every state; also when another process's clock was ahead. */
export function assertNotExpired(row: SessionRow, now: Date): void {
  if (row.expires_at <= now || row.status === 'EXPIRED') throw new AppError('session_expired');
}

/** Throws session_closed or completion_in_progress unless parts may still come. */
export function assertOpen(row: SessionRow, now: Date): void {
  if (row.status !== 'IN_PROGRESS') throw new AppError('session_closed');
  if (row.completing_until !== null && row.completing_until > now) {
    throw new AppError('completion_in_progress', { retryAfterSeconds: 1 });
  }
}

/** What has arrived so far. */
export async function countParts(
  tx: Tx,
  sessionId: string,
): Promise<{ uploadedParts: number; uploadedBytes: number }> {
  const { count, bytes } = await tx
    .selectFrom('upload_parts')
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      fn.sum<string | null>('size').as('bytes'),
    ])
    .where('session_id', '=', sessionId)
    .where('stored_at', 'is not', null)
    .executeTakeFirstOrThrow();
  return { uploadedParts: count, uploadedBytes: Number(bytes ?? 0) };
}
