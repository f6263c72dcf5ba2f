import { createFairSlots } from '../async/fair-slots.ts';
import { sleep } from '../async/wake-signal.ts';
import type { Database, Tx } from '../db/database.ts';
import { retryAfterSeconds } from '../db/leases/lease.ts';
import { AppError } from '../errors/app-error.ts';
import type { Log } from '../telemetry/log.ts';
import { confirmLease, endLease, isHeld, type Held, type MfaUserRow } from './rows/user-rows.ts';

/** Milliseconds that one request spends on waiting and on the identity provider. */
export const requestMs = 5_000;
const waitMs = 4_000;
const pollMs = 50;

/** The sole right to change the second factors of a user, for about as long as a request takes. */
export interface UserLease {
  readonly user: MfaUserRow;
  /** Aborts when the time for the identity provider is over. */
  readonly deadline: AbortSignal;
  /**
   * Performs a write at the identity provider. If it throws, its outcome is unknown: it may still
   * take effect, so that the lease is left to expire and no other write overtakes it.
   */
  write<T>(work: (deadline: AbortSignal) => Promise<T>): Promise<T>;
  /** Makes sure that `tx` commits only while the lease is held. Throws busy otherwise. */
  confirm(tx: Tx): Promise<void>;
}

/** Takes the lease of a user, or finds that another request holds it. */
type TakeLease<Row extends MfaUserRow | undefined> = (tx: Tx) => Promise<Row | Held>;

export type UserLeases = ReturnType<typeof createUserLeases>;

/**
 * Creates the leases under which the second factors of one user are changed one after the other,
 * across all processes. No transaction is open meanwhile.
 */
export function createUserLeases({ db, log }: { readonly db: Database; readonly log: Log }) {
  const turns = createFairSlots({ perKey: 1, waitMs });

  async function waitFor<Row extends MfaUserRow | undefined>(
    take: TakeLease<Row>,
    deadline: AbortSignal,
  ): Promise<Row> {
    for (;;) {
      const taken = await db.asService(take);
      if (!isHeld(taken)) return taken;
      if (deadline.aborted) {
        throw new AppError('busy', { retryAfterSeconds: retryAfterSeconds(taken.secondsLeft) });
      }
      await sleep(pollMs * (1 + Math.random()), deadline);
    }
  }

  async function holdAlone<T>(user: MfaUserRow, deadline: AbortSignal, work: Work<T>): Promise<T> {
    let isInDoubt = false;
    const lease: UserLease = {
      user,
      deadline,
      async write(change) {
        isInDoubt = true;
        const done = await change(deadline);
        isInDoubt = false;
        return done;
      },
      confirm: (tx) => confirmLease(tx, user),
    };
    try {
      return await work(lease);
    } finally {
      if (!isInDoubt) await release(user);
    }
  }

  /** Ends a lease. If that fails, the lease expires by itself. */
  async function release(user: MfaUserRow): Promise<void> {
    await db
      .asService((tx) => endLease(tx, user))
      .catch((error: unknown) => log.warn({ err: error }, 'a lease could not be ended'));
  }

  return {
    /**
     * Performs `work` with the lease of a user that `take` takes. Resolves with undefined if `take`
     * finds no user. Throws busy if others hold the lease for too long.
     */
    hold<T, Row extends MfaUserRow | undefined>(
      userId: string,
      take: TakeLease<Row>,
      work: Work<T>,
    ): Promise<T | Extract<Row, undefined>> {
      const deadline = AbortSignal.timeout(requestMs);
      return turns.take(userId, async () => {
        const user: MfaUserRow | undefined = await waitFor(take, deadline);
        if (user === undefined) return undefined as Extract<Row, undefined>;
        return holdAlone(user, deadline, work);
      });
    },
  };
}

type Work<T> = (lease: UserLease) => Promise<T>;
