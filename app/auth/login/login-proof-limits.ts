import type { Clock } from '../../async/clock.ts';
import { atOnce, type Database, type Tx } from '../../db/database.ts';
import { compileOnce } from '../../db/compile-once.ts';
import { inTurn } from '../../db/pipeline.ts';
import { AppError } from '../../errors/app-error.ts';
import type { LimitName, RateLimits } from '../../limits/rate-limits.ts';
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

/** The account that a proof is for, which may not exist, and where the proof comes from. */
interface Attempt {
  readonly accountId: string;
  readonly clientAddress: string;
  /**
   * The login session of a caller who proves again who they are. It MUST be a session of the
   * account.
   */
  readonly sessionId?: string | undefined;
}

/** A challenge that a client address asks for. */
interface AskedChallenge {
  readonly clientAddress: string;
  /** Finds the account; called only if the client address has used up its count. */
  readonly findAccountId: () => Promise<string | undefined>;
}

/** Reads something in a transaction of the service login. */
type Reading<Found> = (tx: Tx) => Promise<Found>;

const nothing: Reading<void> = () => Promise.resolve();

/** One use of a limit, which may be given back. */
interface Count {
  readonly name: LimitName;
  readonly key: string;
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
 * Creates the limits of challenges, which are counted by client address, and of failed login
 * proofs, which are counted by client address and by account. A client address from which the
 * account logged in within 30 days, and a login session of the account, has counts of its own:
 * failures of strangers, and of other accounts at the client address, do not lock it, and its
 * failures do not lock the account for others.
 */
export function createProofLimits(options: ProofLimitsOptions) {
  const { limits, db, clock, addressKey } = options;

  const hashAddress = (clientAddress: string) => hashClientAddress(addressKey(), clientAddress);

  /**
   * Returns the milliseconds since the account's last login from a client address, and what `read`
   * reads in the same round trip.
   */
  async function readLoginAge<Found>(
    accountId: string,
    addressHash: string,
    read: Reading<Found>,
  ): Promise<readonly [number, Found]> {
    const [[known], found] = await db.asService(
      (tx) => inTurn(selectLogin(tx, { accountId, addressHash }), read(tx)),
      atOnce,
    );
    const ageMs = clock().getTime() - (known?.last_login_at.getTime() ?? -Infinity);
    return [ageMs, found];
  }

  /** Counts an attempt that the limit of the client address, or of the account, may refuse. */
  async function countStranger({ accountId, clientAddress }: Attempt): Promise<readonly Count[]> {
    const byAddress: Count = { name: 'proof-address', key: clientAddress };
    const byAccount: Count = { name: 'proof-account', key: accountId };
    await limits.consume(byAddress.name, byAddress.key);
    try {
      await limits.consume(byAccount.name, byAccount.key);
    } catch (error) {
      await limits.giveBack(byAddress.name, byAddress.key);
      throw error;
    }
    return [byAddress, byAccount];
  }

  /**
   * Counts an attempt that only a limit of its own may refuse. It uses up the limit of the client
   * address for strangers too.
   */
  async function countKnown(
    { accountId, clientAddress }: Attempt,
    place: string,
  ): Promise<readonly Count[]> {
    const byPlace: Count = { name: 'proof-account', key: `${accountId} ${place}` };
    const byAddress: Count = { name: 'proof-address', key: clientAddress };
    const consumed = limits.consume(byPlace.name, byPlace.key);
    const [refusal, isShared] = await Promise.all([
      consumed.then(() => undefined).catch((error: unknown) => ({ error })),
      limits.tryConsume(byAddress.name, byAddress.key),
    ]);
    if (refusal === undefined) return isShared ? [byPlace, byAddress] : [byPlace];
    if (isShared) await limits.giveBack(byAddress.name, byAddress.key);
    throw refusal.error;
  }

  async function admitReading<Found>(
    attempt: Attempt,
    read: Reading<Found>,
  ): Promise<readonly [ProofAttempt, Found]> {
    const { accountId, clientAddress, sessionId } = attempt;
    const addressHash = hashAddress(clientAddress);
    const [ageMs, found] = await readLoginAge(accountId, addressHash, read);
    const place = sessionId ?? (isKnown(ageMs) ? addressHash : undefined);
    const counts = await (place === undefined
      ? countStranger(attempt)
      : countKnown(attempt, place));

    let isCounted = true;
    async function withdraw(): Promise<void> {
      if (!isCounted) return;
      isCounted = false;
      await Promise.all(counts.map(({ name, key }) => limits.giveBack(name, key)));
    }
    async function succeeded(): Promise<void> {
      await withdraw();
      if (ageMs <= refreshAfterMs) return;
      await db.asService((tx) => recordLogin(tx, accountId, addressHash, clock()));
    }
    return [{ withdraw, succeeded }, found];
  }

  return {
    /**
     * Counts an attempt before its proof is checked, so that parallel attempts cannot pass the
     * limit. Attempts for an account that does not exist are counted in the same way. Throws
     * rate_limited.
     */
    async admit(attempt: Attempt): Promise<ProofAttempt> {
      const [admitted] = await admitReading(attempt, nothing);
      return admitted;
    },

    /**
     * Admits an attempt as `admit` does. Resolves also with what `read` reads before, which MUST
     * send its statement at once.
     */
    admitReading,

    /**
     * Counts a challenge. Once the client address has used up its count, an account that knows the
     * client address goes on with a count of its own. Throws rate_limited.
     */
    async admitChallenge({ clientAddress, findAccountId }: AskedChallenge): Promise<void> {
      try {
        await limits.consume('challenge-address', clientAddress);
      } catch (refusal) {
        if (!(refusal instanceof AppError)) throw refusal;
        const accountId = await findAccountId();
        const addressHash = hashAddress(clientAddress);
        if (accountId === undefined) throw refusal;
        const [ageMs] = await readLoginAge(accountId, addressHash, nothing);
        if (!isKnown(ageMs)) throw refusal;
        await limits.consume('challenge-address', `${accountId} ${addressHash}`);
      }
    },
  };
}

function isKnown(loginAgeMs: number): boolean {
  return loginAgeMs <= knownForMs + refreshAfterMs;
}

const selectLogin = compileOnce(
  ({ accountId, addressHash }: { readonly accountId: string; readonly addressHash: string }, db) =>
    db
      .selectFrom('known_addresses')
      .select('last_login_at')
      .where('account_id', '=', accountId)
      .where('address_hash', '=', addressHash)
      .compile(),
);

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
