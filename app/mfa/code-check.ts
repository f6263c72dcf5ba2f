import type { SignerClient } from '../../signer/protocol/client.ts';
import type { Clock } from '../async/clock.ts';
import type { Tallies } from '../audit/tallies/tallies.ts';
import { byOwner } from '../audit-trail/event.ts';
import { hashClientAddress } from '../auth/login/client-address-hash.ts';
import type { Database } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { LabelledKeys } from '../signing-keys/labelled-keys.ts';
import { findStep } from './one-time-codes.ts';
import { takeStep, type Pending } from './rows/pending-rows.ts';

interface CodeCheckOptions {
  readonly db: Database;
  readonly signer: Pick<SignerClient, 'totpSecret'>;
  readonly limits: Pick<RateLimits, 'consume' | 'giveBack'>;
  readonly tallies: Pick<Tallies, 'add'>;
  readonly keys: LabelledKeys;
  readonly clock: Clock;
}

const limit = 'totp-account';

/** Creates the check of the code that confirms a set-up. */
export function createCodeCheck(options: CodeCheckOptions) {
  const { db, signer, limits, tallies, keys, clock } = options;

  async function recordFailure({ caller, clientAddress }: ServiceRequest): Promise<void> {
    await tallies.add({
      ...byOwner(caller),
      action: 'mfa.failed',
      resource: { type: 'account', id: caller.userId },
      data: { addressHash: hashClientAddress(keys.get('address-hash'), clientAddress) },
    });
  }

  /** Returns whether the code is right, and marks its time step as used. */
  async function accept(secret: Buffer, userId: string, pending: Pending, code: string) {
    const step = findStep(secret, code, clock());
    if (step === undefined) return false;
    return db.asService((tx) => takeStep(tx, userId, pending, step));
  }

  async function deriveAndUse<T>(
    { caller: { userId } }: ServiceRequest,
    pending: Pending,
    use: (secret: Buffer) => Promise<T>,
  ): Promise<T> {
    const { nonce, keyGeneration: generation } = pending;
    const { secret } = await signer.totpSecret({ user: userId, nonce, generation });
    try {
      return await use(secret);
    } finally {
      secret.fill(0);
    }
  }

  /**
   * Performs `work` with the secret of a set-up if the code is right. A code is accepted once, and
   * counted before it is checked, so that parallel guesses cannot pass the limit; only wrong codes
   * stay counted. Throws invalid_code, rate_limited or SignerUnavailable.
   */
  return async function withCode<T>(
    request: ServiceRequest,
    pending: Pending,
    code: string,
    work: (secret: Buffer) => Promise<T>,
  ): Promise<T> {
    const { userId } = request.caller;
    await limits.consume(limit, userId);
    let isWrong = false;
    try {
      return await deriveAndUse(request, pending, async (secret) => {
        if (await accept(secret, userId, pending, code)) return work(secret);
        isWrong = true;
        await recordFailure(request);
        throw new AppError('invalid_code');
      });
    } finally {
      if (!isWrong) await limits.giveBack(limit, userId);
    }
  };
}
