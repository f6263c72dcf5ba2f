import type { Accounts, ActiveAccount } from '../../accounts/accounts.ts';
import type { Clock } from '../../async/clock.ts';
import type { CredentialMethod } from '../../db/tables/accounts.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { LabelledKeys } from '../../signing-keys/labelled-keys.ts';
import { pad } from '../../srp/group.ts';
import type { Powers } from '../../srp/powers.ts';
import { answerProof, createChallenge, parseClientPublic } from '../../srp/srp.ts';
import { decoyById, decoyFor } from './decoy.ts';
import type { LoginFailures } from './login-failures.ts';
import type { ProofLimits } from './login-proof-limits.ts';
import { srpSessionSeconds, type PendingProof, type SrpSessions } from './srp-sessions.ts';

/** The first step as a client sends it. */
interface ChallengeInput {
  readonly email: string;
  /** The client's public value in hex. */
  readonly A: string;
  /** The login method, `password` unless stated. */
  readonly method?: CredentialMethod | undefined;
}

interface Challenge {
  readonly sessionId: string;
  /** The salt in hex. */
  readonly salt: string;
  /** The server's public value: 768 hex digits. */
  readonly B: string;
  readonly expiresAt: Date;
}

/** The second step as a client sends it. */
export interface ClientProof {
  /** The id of the SRP session; if undefined, the newest SRP session that was begun with `A`. */
  readonly sessionId?: string | undefined;
  /** The client's public value in hex. */
  readonly A: string;
  /** The client's login proof in hex. */
  readonly M1: string;
}

/** The account of a valid login proof, and the proof with which the server answers. */
export interface Proven {
  readonly account: ActiveAccount;
  /** The server's login proof M2 in hex. */
  readonly serverProof: string;
}

interface SrpExchangeOptions {
  readonly accounts: Accounts;
  readonly sessions: SrpSessions;
  readonly powers: Powers;
  readonly keys: LabelledKeys;
  readonly proofLimits: ProofLimits;
  readonly failures: LoginFailures;
  /**
   * With `decoy`, an e-mail address without an account gets a challenge as if it had an account;
   * with `reveal`, it gets user_not_found.
   */
  readonly unknownUser: 'reveal' | 'decoy';
  readonly clock: Clock;
}

export type SrpExchange = ReturnType<typeof createSrpExchange>;

/** Creates the SRP-6a exchange with accounts, for logins and reauthentications. */
export function createSrpExchange(options: SrpExchangeOptions) {
  const { accounts, sessions, powers, keys, proofLimits, failures, clock } = options;
  const hidesUnknown = options.unknownUser === 'decoy';

  async function findByEmail(email: string, method: CredentialMethod): Promise<Credentials> {
    // Derive the decoy for every e-mail address, so that the timing does not reveal which e-mail
    // addresses have an account.
    const decoy = hidesUnknown ? decoyFor(keys.get('decoy'), email, method) : undefined;
    const found = await accounts.findCredentials(email, method);
    const { userId, salt, verifier } = { ...decoy, ...withoutNulls(found) };
    if (userId === undefined || salt === undefined || verifier === undefined) {
      throw new AppError('user_not_found');
    }
    return { userId, salt, verifier };
  }

  /**
   * Checks a login proof. `account` is undefined if the proof is for a decoy or the account was
   * closed meanwhile. Returns the server's proof; undefined if the client's is wrong.
   */
  async function judge(
    session: PendingProof,
    account: ActiveAccount | undefined,
    { A, M1 }: ClientProof,
  ): Promise<Buffer | undefined> {
    const { accountId, method } = session;
    const decoy = hidesUnknown ? decoyById(keys.get('decoy'), accountId, method) : undefined;
    const verifier = (account ?? decoy)?.verifier;
    if (verifier === undefined || session.clientPublic !== parseClientPublic(A)) return undefined;
    return answerProof(powers, session, BigInt(`0x${verifier}`), Buffer.from(M1, 'hex'));
  }

  async function check(
    { clientAddress, caller }: ServiceRequest<Caller | undefined>,
    session: PendingProof,
    proof: ClientProof,
  ): Promise<Proven> {
    const { accountId, method } = session;
    // The caller's session counts apart for the caller's own account only: otherwise anyone with an
    // account could guess the passwords of others without their limit.
    const sessionId = caller?.userId === accountId ? caller.sessionId : undefined;
    const [attempt, account] = await proofLimits.admitReading(
      { accountId, clientAddress, sessionId },
      (tx) => accounts.readActive(tx, { accountId, method }),
    );
    const serverProof = await judge(session, account, proof).catch(async (error: unknown) => {
      await attempt.withdraw();
      throw error;
    });
    if (account !== undefined && serverProof !== undefined) {
      await attempt.succeeded();
      return { account, serverProof: serverProof.toString('hex') };
    }
    await failures.add({ userId: accountId, tenantId: account?.tenantId }, clientAddress);
    throw new AppError('invalid_proof');
  }

  async function prove<T>(
    request: ServiceRequest<Caller | undefined>,
    proof: ClientProof,
    work: (proven: Proven) => Promise<T>,
  ): Promise<T> {
    const clientPublic = parseClientPublic(proof.A);
    const id = proof.sessionId ?? (await sessions.findByClientPublic(clientPublic));
    const session = id === undefined ? undefined : await sessions.take(id);
    if (session === undefined) throw new AppError('srp_session_expired');
    try {
      return await work(await check(request, session, proof));
    } catch (error) {
      const isRefused = error instanceof AppError && error.status < 500;
      // If Redis is away too, the client begins again.
      if (!isRefused) await session.putBack().catch(() => undefined);
      throw error;
    }
  }

  return {
    /**
     * Begins an SRP session and returns the server's part of the challenge. Throws
     * invalid_public_value, user_not_found, rate_limited or cache_unavailable.
     */
    async challenge(
      { clientAddress }: ServiceRequest<undefined>,
      { email, A, method = 'password' }: ChallengeInput,
    ): Promise<Challenge> {
      const clientPublic = parseClientPublic(A);
      const findAccountId = async () => (await accounts.findCredentials(email, method))?.userId;
      await proofLimits.admitChallenge({ clientAddress, findAccountId });
      const { userId, salt, verifier } = await findByEmail(email, method);
      const session = await createChallenge(powers, clientPublic, BigInt(`0x${verifier}`));
      const expiresAt = new Date(clock().getTime() + srpSessionSeconds * 1000);
      return {
        sessionId: await sessions.add({ ...session, accountId: userId, method }),
        salt,
        B: pad(session.serverPublic).toString('hex'),
        expiresAt,
      };
    },

    /**
     * Checks the client's login proof, and settles as `work` does with what it proves. An SRP
     * session serves only one attempt: it ends whatever the result, unless the attempt failed for a
     * reason that is not the client's, such as a database that is away; then the client may send
     * the same proof again. Throws invalid_public_value, srp_session_expired, invalid_proof,
     * rate_limited or cache_unavailable.
     */
    prove,
  };
}

interface Credentials {
  readonly userId: string;
  readonly salt: string;
  readonly verifier: string;
}

/**
 * Returns only the user id if an account has no credentials for the login method, so that the
 * decoy's credentials are used while attempts still count for the account.
 */
function withoutNulls(
  found: Awaited<ReturnType<Accounts['findCredentials']>>,
): Partial<Credentials> {
  if (found === undefined) return {};
  const { userId, salt, verifier } = found;
  return salt === null || verifier === null ? { userId } : { userId, salt, verifier };
}
