import type { Clock } from '../../async/clock.ts';
import type { Database, Tx } from '../../db/database.ts';
import type { RateLimits } from '../../limits/rate-limits.ts';
import { hashAddress } from './address-hash.ts';

/** One proof, from before it is checked. Unless one of these is called, it counts as failed. */
interface ProofAttempt {
  /** The proof was right: it counts nowhere, and the account knows the address from now on. */
  succeeded(): Promise<void>;
  /** Something else failed before the proof was judged: it counts nowhere. Does nothing twice. */
  withdraw(): Promise<void>;
}

/**
 * Failed proofs, counted by address and by account. An address from which the account logged in
 * within 30 days neither feeds nor obeys the account's count: it has one of its own.
 */
export interface ProofLimits {
  /**
   * Counts an attempt ahead of its proof, so that parallel ones cannot slip through. Does the same
   * for an id that no account has. Throws rate_limited.
   */
  admit(attempt: { accountId: string; address: string }): Promise<ProofAttempt>;
}

interface ProofLimitsOptions {
  readonly limits: RateLimits;
  readonly db: Database;
  readonly clock: Clock;
  /** Of the HMAC by which addresses are known. */
  readonly addressKey: () => Buffer;
}

const dayMs = 86_400_000;
const knownForMs = 30 * dayMs;
/** A day more than they are looked at. */
export const forgottenAfterMs = knownForMs + dayMs;
/** Younger records are not written again: most logins only read. */
const refreshAfterMs = 3_600_000;
const maxKnownAddresses = 20;

export function createProofLimits(options: ProofLimitsOptions): ProofLimits {
  const { limits, db, clock, addressKey } = options;

  return {
    async admit({ accountId, address }) {
      const addressHash = hashAddress(addressKey(), address);

      await limits.consume('proof-address', address);
      const { ageMs, accountKey } = await orTakeBack(
        async () => {
          const lastLoginAt = await db.asService((tx) => findLogin(tx, accountId, addressHash));
          const ageMs = clock().getTime() - (lastLoginAt?.getTime() ?? -Infinity);
          const isKnown = ageMs <= knownForMs + refreshAfterMs;
          const accountKey = isKnown ? `${accountId} ${addressHash}` : accountId;
          await limits.consume('proof-account', accountKey);
          return { ageMs, accountKey };
        },
        () => limits.giveBack('proof-address', address),
      );

      let isCounted = true;
      async function withdraw(): Promise<void> {
        if (!isCounted) return;
        isCounted = false;
        await Promise.all([
          limits.giveBack('proof-address', address),
          limits.giveBack('proof-account', accountKey),
        ]);
      }
      return {
        withdraw,
        async succeeded() {
          await withdraw();
          if (ageMs <= refreshAfterMs) return;
          await db.asService((tx) => recordLogin(tx, accountId, addressHash, clock()));
        },
      };
    },
  };
}

async function orTakeBack<T>(work: () => Promise<T>, takeBack: () => Promise<void>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await takeBack();
    throw error;
  }
}

async function findLogin(
  tx: Tx,
  accountId: string,
  addressHash: string,
): Promise<Date | undefined> {
  const known = await tx
    .selectFrom('known_addresses')
    .select('last_login_at')
    .where('account_id', '=', accountId)
    .where('address_hash', '=', addressHash)
    .executeTakeFirst();
  return known?.last_login_at;
}

/** Keeps the addresses of the latest logins only. */
async function recordLogin(
  tx: Tx,
  accountId: string,
  addressHash: string,
  now: Date,
): Promise<void> {
  await tx
    .insertInto('known_addresses')
    .values({ account_id: accountId, address_hash: addressHash, last_login_at: now })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'address_hash']).doUpdateSet({ last_login_at: now }),
    )
    .execute();
  await tx
    .deleteFrom('known_addresses')
    .where('account_id', '=', accountId)
    .where('address_hash', 'in', (query) =>
      query
        .selectFrom('known_addresses')
        .select('address_hash')
        .where('account_id', '=', accountId)
        .orderBy('last_login_at', 'desc')
        .offset(maxKnownAddresses),
    )
    .execute();
}
