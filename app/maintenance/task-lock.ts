import { sql } from 'kysely';
import type { Database, Tx } from '../db/database.ts';
import { keepLease } from '../db/leases/keep-lease.ts';
import { isFree, leaseEnd } from '../db/leases/lease.ts';
import { takesLock } from '../db/lock-order.ts';
import { AppError } from '../errors/app-error.ts';

export type TaskLock = ReturnType<typeof createTaskLock>;

/** The right of one run to perform its task. */
export interface TaskLease {
  /**
   * Makes sure that `tx` commits only if no other run has begun, and otherwise throws
   * maintenance_running. Call it last, since other runs wait from here on.
   */
  confirm(tx: Tx): Promise<void>;
}

interface Holder {
  readonly task: string;
  /** Fencing token: it changes whenever a run takes the lock. */
  readonly token: number;
}

/**
 * Creates the locks of maintenance tasks. Each is a row with a lease that its holder renews. It
 * needs neither a connection nor an open transaction, and ends at most 15 s after its holder died.
 */
export function createTaskLock({ db }: { readonly db: Database }) {
  return {
    /**
     * Performs `work` while holding the lock of a task. Throws maintenance_running if another run
     * holds the lock, and database_unavailable.
     */
    async hold<T>(task: string, work: (lease: TaskLease) => Promise<T>): Promise<T> {
      const token = await db.asService((tx) => takeLock(tx, task));
      if (token === undefined) throw running();
      const holder = { task, token };
      const kept = keepLease({
        renew: () => db.asService((tx) => setEnd(tx, holder, leaseEnd())),
        release: () => db.asService((tx) => setEnd(tx, holder, null)),
      });
      try {
        return await work({ confirm: (tx) => confirm(tx, holder) });
      } finally {
        await kept.release();
      }
    },
  };
}

/** Takes a lock and resolves with its token, or with undefined if a run holds the lock. */
async function takeLock(tx: Tx, task: string): Promise<number | undefined> {
  takesLock(tx, 'maintenance task');
  const taken = await tx
    .insertInto('maintenance_locks')
    .values({ task, token: 1, held_until: leaseEnd() })
    .onConflict((conflict) =>
      conflict
        .column('task')
        .doUpdateSet({ token: sql`maintenance_locks.token + 1`, held_until: leaseEnd() })
        .where(isFree('maintenance_locks.held_until')),
    )
    .returning('token')
    .executeTakeFirst();
  return taken?.token;
}

/** Sets the end of a lease. Resolves with false if another run has taken the lock. */
async function setEnd(
  tx: Tx,
  { task, token }: Holder,
  heldUntil: ReturnType<typeof leaseEnd> | null,
): Promise<boolean> {
  takesLock(tx, 'maintenance task');
  const { numUpdatedRows } = await tx
    .updateTable('maintenance_locks')
    .set({ held_until: heldUntil })
    .where('task', '=', task)
    .where('token', '=', token)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Locks the row of the holder's lock. Throws maintenance_running if another run has taken it. */
async function confirm(tx: Tx, { task, token }: Holder): Promise<void> {
  takesLock(tx, 'maintenance task');
  const held = await tx
    .selectFrom('maintenance_locks')
    .select('token')
    .where('task', '=', task)
    .where('token', '=', token)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (held === undefined) throw running();
}

function running(): AppError {
  return new AppError('maintenance_running', { retryAfterSeconds: 60 });
}
