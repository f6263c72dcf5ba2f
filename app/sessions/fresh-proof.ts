import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../async/clock.ts';
import type { Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { ReauthTokens } from '../tokens/reauth-token.ts';
import { isFresh } from '../tokens/token-rules.ts';

/**
 * The evidence in a request that the caller proved within five minutes who they are: an
 * X-Reauth-Token, or else a login. A refresh of tokens is no login. An access token alone is no
 * evidence, since it may be stolen. A reauthentication token that is not valid spoils the evidence,
 * even after a fresh login: the methods that throw then throw reauth_expired or reauth_invalid.
 */
export interface FreshProof {
  /** Resolves with whether the request has fresh evidence. */
  isGiven(tx: Tx): Promise<boolean>;
  /** Throws reauth_required unless the request has fresh evidence. */
  assertGiven(tx: Tx): Promise<void>;
  /**
   * Throws reauth_required unless the request has a reauthentication token, for actions that a
   * token stolen right after the login must not carry out either.
   */
  assertReauthenticated(): void;
}

interface FreshProofsOptions {
  /** The vault's own name as an issuer. */
  readonly issuer: string;
  readonly reauthTokens: Pick<ReauthTokens, 'verify'>;
  readonly clock: Clock;
}

export type FreshProofs = ReturnType<typeof createFreshProofs>;

/** Creates the service that reads the evidence in requests for actions that need a fresh proof. */
export function createFreshProofs({ issuer, reauthTokens, clock }: FreshProofsOptions) {
  async function isFreshLogin(tx: Tx, caller: Caller): Promise<boolean> {
    const provenAt =
      caller.issuer === issuer ? await findLogin(tx, caller) : caller.authenticatedAt;
    return provenAt !== undefined && isFresh(provenAt, clock());
  }

  return {
    /**
     * Reads the evidence of a request before the transaction of its action, since a
     * reauthentication token is not verified while a transaction is open. Does not throw.
     */
    async read(caller: Caller, headers: IncomingHttpHeaders): Promise<FreshProof> {
      const token = headers['x-reauth-token']?.toString();
      const [verified] =
        token === undefined ? [] : await Promise.allSettled([reauthTokens.verify(token, caller)]);
      const isGiven = async (tx: Tx) =>
        verified === undefined ? isFreshLogin(tx, caller) : verified.status === 'fulfilled';
      const refusal = () =>
        verified?.status === 'rejected' ? verified.reason : new AppError('reauth_required');
      return {
        isGiven,
        async assertGiven(tx) {
          if (!(await isGiven(tx))) throw refusal();
        },
        assertReauthenticated() {
          if (verified?.status !== 'fulfilled') throw refusal();
        },
      };
    },
  };
}

/** Finds the time at which the caller's login session of the vault began. */
async function findLogin(tx: Tx, { userId, sessionId }: Caller): Promise<Date | undefined> {
  if (sessionId === undefined) return undefined;
  const session = await tx
    .selectFrom('login_sessions')
    .select('created_at')
    .where('id', '=', sessionId)
    .where('user_id', '=', userId)
    .executeTakeFirst();
  return session?.created_at;
}
