import { sql, type Selectable } from 'kysely';
import type { Owner, Tx } from '../../db/database.ts';
import { retryAfterSeconds, secondsLeft } from '../../db/leases/lease.ts';
import { takesLock } from '../../db/lock-order.ts';
import type { Schema } from '../../db/schema.ts';
import { AppError } from '../../errors/app-error.ts';
import { StorageError } from '../../storage/interface/storage-error.ts';

export type SessionRow = Selectable<Schema['upload_sessions']>;

export const sessionColumns = [
  'id',
  'user_id',
  'tenant_id',
  'file_name',
  'file_size',
  'mime_type',
  'total_parts',
  'storage_key',
  'storage_upload_id',
  'status',
  'created_at',
  'expires_at',
  'completing_until',
  'completed_at',
  'aborted_at',
  'object_version',
  'file_hash',
  'is_used',
] as const;

interface LoadedSession extends SessionRow {
  /** Whether the session's time is over by the clock of Postgres. */
  readonly isOver: boolean;
}

export interface LockedSession extends LoadedSession {
  /**
   * Seconds until another request may assemble the file, if the one that does so has died; null if
   * none does.
   */
  readonly completingFor: number | null;
}

/**
 * Locks the row of an upload session of the owner for the rest of `tx`, and returns the session.
 * Throws not_found.
 */
export async function lockSession(tx: Tx, owner: Owner, sessionId: string): Promise<LockedSession> {
  takesLock(tx, 'upload session');
  const row = await selectSession(tx, owner, sessionId)
    .select(secondsLeft('completing_until').as('completingFor'))
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined) throw new AppError('not_found');
  return row;
}

/**
 * Locks an upload session as lockSession does, and returns the session. Throws not_found, and if
 * the session accepts no parts, session_expired, session_closed or completion_in_progress.
 */
export async function lockOpenSession(
  tx: Tx,
  owner: Owner,
  sessionId: string,
  now: Date,
): Promise<LockedSession> {
  const row = await lockSession(tx, owner, sessionId);
  assertNotExpired(row, now);
  if (row.status !== 'IN_PROGRESS') throw new AppError('session_closed');
  assertNotCompleting(row);
  return row;
}

/** Loads an upload session of the owner. Throws not_found. */
export async function loadSession(tx: Tx, owner: Owner, sessionId: string): Promise<LoadedSession> {
  const row = await selectSession(tx, owner, sessionId).executeTakeFirst();
  if (row === undefined) throw new AppError('not_found');
  return row;
}

function selectSession(tx: Tx, { userId, tenantId }: Owner, sessionId: string) {
  return tx
    .selectFrom('upload_sessions')
    .select(sessionColumns)
    .select(sql<boolean>`expires_at <= now()`.as('isOver'))
    .where('id', '=', sessionId)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId);
}

/**
 * Returns session_closed for the object store's error upload_not_found, and any other error
 * unchanged.
 */
export function closedIfGone(error: unknown): unknown {
  const isGone = error instanceof StorageError && error.code === 'upload_not_found';
  return isGone ? new AppError('session_closed', { cause: error }) : error;
}

/**
 * Throws session_expired if an upload session's time is over, whatever its status, or if it was
 * marked as expired. Both clocks must say that its time is over, as one that is ahead must not cost
 * a user the upload.
 */
export function assertNotExpired(row: LoadedSession, now: Date): void {
  const isOver = row.isOver && row.expires_at <= now;
  if (isOver || row.status === 'EXPIRED') throw new AppError('session_expired');
}

/** Throws completion_in_progress while a request is assembling the file of an upload session. */
export function assertNotCompleting({ completingFor }: LockedSession): void {
  if (completingFor === null || completingFor <= 0) return;
  const options = { retryAfterSeconds: retryAfterSeconds(completingFor) };
  throw new AppError('completion_in_progress', options);
}

/** Counts the recorded parts of an upload session and the bytes of these parts. */
export async function countParts(
  tx: Tx,
  { userId, tenantId }: Owner,
  sessionId: string,
): Promise<{ readonly uploadedParts: number; readonly uploadedBytes: number }> {
  const { count, bytes } = await tx
    .selectFrom('upload_parts')
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      fn.sum<string | null>('size').as('bytes'),
    ])
    .where('session_id', '=', sessionId)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('stored_at', 'is not', null)
    .executeTakeFirstOrThrow();
  return { uploadedParts: count, uploadedBytes: Number(bytes ?? 0) };
}
