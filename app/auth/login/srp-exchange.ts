import type { CredentialMethod } from '../../db/tables/accounts.ts';
import type { Accounts, ActiveAccount } from '../../accounts/accounts.ts';
import type { Clock } from '../../async/clock.ts';
import { AppError } from '../../errors/app-error.ts';
import type { LabelledKeys } from '../../keys/labelled-keys.ts';
import type { RateLimits } from '../../limits/rate-limits.ts';
import { pad } from '../../srp/group.ts';
import { answerProof, createChallenge, parseClientPublic } from '../../srp/srp.ts';
import { decoyById, decoyFor } from './decoy.ts';
import type { LoginFailures } from './login-failures.ts';
import type { ProofLimits } from './proof-limits.ts';
import { srpSessionSeconds, type PendingProof, type SrpSessions } from './srp-sessions.ts';

interface Challenge {
  readonly sessionId: string;
  /** Hex. */
  readonly salt: string;
  /** 768 hex digits. */
  readonly B: string;
  readonly expiresAt: Date;
}

/** The second step as a client sends it. */
export interface ClientProof {
  /** Found by A where it is left out. */
  readonly sessionId?: string | undefined;
  readonly A: string;
  readonly M1: string;
}

interface Proven {
  readonly account: ActiveAccount;
  /** M2, hex. */
  readonly serverProof: string;
}

/** The first step as a client sends it. */
interface ChallengeInput {
  readonly email: string;
  readonly A: string;
  /** The password unless said. */
  readonly method?: CredentialMethod | undefined;
}

/** SRP-6a between a client and an account, whatever the proof is for. */
export interface SrpExchange {
  /** Throws invalid_public_value, user_not_found, rate_limited or cache_unavailable. */
  challenge(input: ChallengeInput, clientAddress: string): Promise<Challenge>;
  /** One attempt a session. Throws srp_session_expired, invalid_proof or rate_limited. */
  prove(proof: ClientProof, clientAddress: string): Promise<Proven>;
}

interface SrpExchangeOptions {
  readonly accounts: Accounts;
  readonly sessions: SrpSessions;
  readonly keys: LabelledKeys;
  readonly limits: RateLimits;
  readonly proofLimits: ProofLimits;
  readonly failures: LoginFailures;
  /** `decoy` answers for addresses without an account as if there were one. */
  readonly unknownUser: 'reveal' | 'decoy';
  readonly clock: Clock;
}

export function createSrpExchange(options: SrpExchangeOptions): SrpExchange {
  const { accounts, sessions, keys, limits, proofLimits, failures, clock } = options;
  const hidesUnknown = options.unknownUser === 'decoy';

  async function findByEmail(email: string, method: CredentialMethod): Promise<Credentials> {
    // Made for known addresses too: what only one of the two costs would tell them apart.
    const decoy = hidesUnknown ? decoyFor(keys.get('decoy'), email, method) : undefined;
    const found = await accounts.findCredentials(email, method);
    const { userId, salt, verifier } = { ...decoy, ...withoutNulls(found) };
    if (userId === undefined || salt === undefined || verifier === undefined) {
      throw new AppError('user_not_found');
    }
    return { userId, salt, verifier };
  }

  /** No account where it was closed meanwhile, and for a decoy; no proof of ours for a wrong one. */
  async function judge(session: PendingProof, { A, M1 }: ClientProof) {
    const { accountId, method } = session;
    const decoy = hidesUnknown ? decoyById(keys.get('decoy'), accountId, method) : undefined;
    const account = await accounts.findActiveById(accountId, method);
    const verifier = (account ?? decoy)?.verifier;
    if (verifier === undefined || session.clientPublic !== parseClientPublic(A)) {
      return { account, serverProof: undefined };
    }
    const clientProof = Buffer.from(M1, 'hex');
    const serverProof = await answerProof(session, BigInt(`0x${verifier}`), clientProof);
    return { account, serverProof };
  }

  return {
    async challenge({ email, A, method = 'password' }, clientAddress) {
      const clientPublic = parseClientPublic(A);
      await limits.consume('challenge-address', clientAddress);
      const { userId, salt, verifier } = await findByEmail(email, method);
      const session = await createChallenge(clientPublic, BigInt(`0x${verifier}`));
      const expiresAt = new Date(clock().getTime() + srpSessionSeconds * 1000);
      return {
        sessionId: await sessions.add({ ...session, accountId: userId, method }),
        salt,
        B: pad(session.serverPublic).toString('hex'),
        expiresAt,
      };
    },

    async prove(proof, clientAddress) {
      const clientPublic = parseClientPublic(proof.A);
      const id = proof.sessionId ?? (await sessions.findByClientPublic(clientPublic));
      const session = id === undefined ? undefined : await sessions.take(id);
      if (session === undefined) throw new AppError('srp_session_expired');
      const { accountId } = session;
      const attempt = await proofLimits.admit({ accountId, address: clientAddress });
      const { account, serverProof } = await judge(session, proof).catch(async (error: unknown) => {
        await attempt.withdraw();
        throw error;
      });
      if (account !== undefined && serverProof !== undefined) {
        await attempt.succeeded();
        return { account, serverProof: serverProof.toString('hex') };
      }
      await failures.add({ userId: accountId, tenantId: account?.tenantId }, clientAddress);
      throw new AppError('invalid_proof');
    },
  };
}

interface Credentials {
  readonly userId: string;
  readonly salt: string;
  readonly verifier: string;
}

/** Of an account without these credentials the id alone is left: attempts count as its own. */
function withoutNulls(
  found: Awaited<ReturnType<Accounts['findCredentials']>>,
): Partial<Credentials> {
  if (found === undefined) return {};
  const { userId, salt, verifier } = found;
  return salt === null || verifier === null ? { userId } : { userId, salt, verifier };
}
