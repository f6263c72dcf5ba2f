import { sql } from 'kysely';
import { lockName } from '../../db/advisory-lock.ts';
import type { Owner, Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
import { AppError } from '../../errors/app-error.ts';

export interface Plan {
  readonly openUploads: number;
  readonly storageBytes: number;
}

/**
 * Throws quota_exceeded if another upload of `fileSize` bytes would exceed the plan. Locks the
 * user's quota for the rest of `tx`, so that concurrent uploads are counted one after another.
 */
export async function assertQuota(
  tx: Tx,
  owner: Owner,
  plan: Plan,
  fileSize: number,
): Promise<void> {
  takesLock(tx, 'upload quota');
  await lockName(tx, `uploads:${owner.userId}`);
  const { rows } = await sql<{ readonly open: number; readonly bytes: string | null }>`
    select count(*) filter (where status = 'IN_PROGRESS') as open, sum(file_size) as bytes
    from upload_sessions
    where user_id = ${owner.userId}
      and (status = 'COMPLETED'
        or (status = 'IN_PROGRESS' and greatest(expires_at, completing_until) > now()))`.execute(
    tx,
  );
  const used = rows[0];
  const isOver =
    (used?.open ?? 0) >= plan.openUploads ||
    Number(used?.bytes ?? 0) + fileSize > plan.storageBytes;
  if (isOver) throw new AppError('quota_exceeded', { retryAfterSeconds: 3600 });
}
