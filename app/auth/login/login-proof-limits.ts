import type { Clock } from '../../async/clock.ts';
import type { Database, Tx } from '../../db/database.ts';
import type { RateLimits } from '../../limits/rate-limits.ts';
import { hashClientAddress } from './client-address-hash.ts';

/**
 * A login proof that is counted before it is checked. The proof counts as failed unless `succeeded`
 * or `withdraw` is called.
 */
interface ProofAttempt {
  /**
   * Reverses the count of a proof that was right, and stores its client address as known for the
   * account.
   */
  succeeded(): Promise<void>;
  /**
   * Reverses the count of a proof that could not be checked because of another failure. Idempotent.
   */
  withdraw(): Promise<void>;
}

/** The account that a proof is for, which may not exist, and the client address it comes from. */
interface Attempt {
  readonly accountId: string;
  readonly clientAddress: string;
}

interface ProofLimitsOptions {
  readonly limits: RateLimits;
  readonly db: Database;
  readonly clock: Clock;
  /** Returns the key of the HMAC by which client addresses are stored. */
  readonly addressKey: () => Buffer;
}

const dayMs = 86_400_000;
const knownForMs = 30 * dayMs;
/**
 * Milliseconds since the last login after which a client address is removed: about a day longer
 * than it counts as known.
 */
export const forgottenAfterMs = knownForMs + dayMs;
/**
 * Milliseconds after which a login updates the row of a known client address again, so that most
 * logins only read the row.
 */
const refreshAfterMs = 3_600_000;
const maxKnownAddresses = 20;

export type ProofLimits = ReturnType<typeof createProofLimits>;

/**
 * Creates the limits of failed login proofs, which are counted by client address and by account. A
 * client address from which the account logged in within 30 days has a count of its own: its
 * failures neither add to the account's count nor are refused because of it.
 */
export function createProofLimits(options: ProofLimitsOptions) {
  const { limits, db, clock, addressKey } = options;

  /**
   * Counts an attempt by account, or by account and client address if the client address is known
   * for the account.
   */
  async function countByAccount(accountId: string, addressHash: string) {
    const lastLoginAt = await db.asService((tx) => findLogin(tx, accountId, addressHash));
    const ageMs = clock().getTime() - (lastLoginAt?.getTime() ?? -Infinity);
    const isKnown = ageMs <= knownForMs + refreshAfterMs;
    const accountKey = isKnown ? `${accountId} ${addressHash}` : accountId;
    await limits.consume('proof-account', accountKey);
    return { ageMs, accountKey };
  }

  async function admit({ accountId, clientAddress }: Attempt): Promise<ProofAttempt> {
    const addressHash = hashClientAddress(addressKey(), clientAddress);
    await limits.consume('proof-address', clientAddress);
    const { ageMs, accountKey } = await orTakeBack(
      () => countByAccount(accountId, addressHash),
      () => limits.giveBack('proof-address', clientAddress),
    );

    let isCounted = true;
    async function withdraw(): Promise<void> {
      if (!isCounted) return;
      isCounted = false;
      await Promise.all([
        limits.giveBack('proof-address', clientAddress),
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
  }

  return {
    /**
     * Counts an attempt before its proof is checked, so that parallel attempts cannot pass the
     * limit. Attempts for an account that does not exist are counted in the same way. Throws
     * rate_limited.
     */
    admit,
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

/**
 * Records the client address of a login, and removes all but the latest 20 client addresses of the
 * account.
 */
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
