import { NIL } from 'uuid';
import type { Clock } from '../async/clock.ts';
import type { AuditTrail } from '../audit-trail/audit-trail.ts';
import type { Database, Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { ErrorCode } from '../errors/error-codes.ts';
import type { IdentityProvider, SecondFactors } from '../identity-provider/identity-provider.ts';
import {
  countUnfinished,
  findPending,
  listUnfinished,
  removePending,
} from './rows/pending-rows.ts';
import { findSettlement, storeSettlement } from './settlement.ts';
import type { UserLease, UserLeases } from './user-leases.ts';
import { takeExistingLease } from './rows/user-rows.ts';

const nothing: SecondFactors = { totps: [], recoveryCodes: [] };
const pageSize = 100;
const reasonsToWait: ReadonlySet<ErrorCode> = new Set(['busy', 'identity_provider_unavailable']);

interface UnfinishedOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly provider: IdentityProvider | undefined;
  readonly leases: UserLeases;
  readonly clock: Clock;
}

export type UnfinishedMfa = ReturnType<typeof createUnfinishedMfa>;

/**
 * Creates the service that ends what users began and did not finish: set-ups that expired, and
 * changes whose process died before it recorded them.
 */
export function createUnfinishedMfa(options: UnfinishedOptions) {
  const { db, audit, provider, leases, clock } = options;

  async function readFactors({ user, deadline }: UserLease): Promise<SecondFactors> {
    if (user.subject === null) return nothing;
    return (await provider?.findFactors(user.subject, deadline)) ?? nothing;
  }

  /** Records what took effect at the provider, and ends the rest. */
  async function settle(lease: UserLease): Promise<void> {
    const { user } = lease;
    const factors = await readFactors(lease);
    await db.asService(async (tx) => {
      await lease.confirm(tx);
      const pending = await findPending(tx, user.userId);
      const settlement = findSettlement(user, pending, factors);
      await storeSettlement(tx, user, settlement);
      if (pending !== undefined && pending.expiresAt <= clock()) {
        await removePending(tx, user.userId);
      }
      audit.appendAll(
        tx,
        settlement.actions.map((action) => ({
          action,
          actor: { type: 'system' as const, id: null },
          owner: { userId: user.userId, tenantId: user.tenantId },
          resource: { type: 'account' as const, id: user.userId },
          requestId: null,
          data: {},
        })),
      );
    });
  }

  /** Resolves with whether the user was settled; false if that has to wait. */
  async function settleUser(userId: string): Promise<boolean> {
    try {
      await leases.hold(userId, (tx) => takeExistingLease(tx, userId), settle);
      return true;
    } catch (error) {
      const hasToWait = error instanceof AppError && reasonsToWait.has(error.code);
      if (hasToWait) return false;
      throw error;
    }
  }

  return {
    /** Counts the users with something unfinished. */
    count: (tx: Tx): Promise<number> => countUnfinished(tx, clock()),

    /**
     * Settles all of them and yields the number of each page. Leaves to a later run whom a request
     * changes right now, and all while the identity provider is unavailable or not set up. Throws
     * audit_backlog_full.
     */
    async *settleAll(): AsyncGenerator<number> {
      if (provider === undefined) return;
      audit.assertWritable();
      let after: string = NIL;
      for (;;) {
        const page = { now: clock(), after, limit: pageSize };
        const userIds = await db.asService((tx) => listUnfinished(tx, page));
        let settled = 0;
        for (const userId of userIds) settled += (await settleUser(userId)) ? 1 : 0;
        yield settled;
        const last = userIds.at(-1);
        if (last === undefined || userIds.length < pageSize) return;
        after = last;
      }
    },
  };
}
