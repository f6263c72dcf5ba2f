import type { Accounts, ActiveAccount } from '../accounts/service.ts';
import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import { pad } from '../srp/group.ts';
import { answerProof, createChallenge, parseClientPublic } from '../srp/srp.ts';
import { srpSessionSeconds, type SrpSessions } from './srp-sessions.ts';

export interface Challenge {
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

export interface Proven {
  readonly account: ActiveAccount;
  /** M2, hex. */
  readonly serverProof: string;
}

/** SRP-6a between a client and an account, whatever the proof is for. */
export interface SrpExchange {
  /** Throws invalid_public_value, user_not_found or cache_unavailable. */
  challenge(input: { email: string; A: string }): Promise<Challenge>;
  /** One attempt a session. Throws srp_session_expired, invalid_proof or rate_limited. */
  prove(proof: ClientProof, clientAddress: string): Promise<Proven>;
}

interface SrpExchangeOptions {
  readonly accounts: Accounts;
  readonly sessions: SrpSessions;
  readonly clock: Clock;
}

export function createSrpExchange({ accounts, sessions, clock }: SrpExchangeOptions): SrpExchange {
  return {
    async challenge({ email, A }) {
      const clientPublic = parseClientPublic(A);
      const account = await accounts.findActiveByEmail(email);
      if (account === undefined) throw new AppError('user_not_found');
      const session = await createChallenge(clientPublic, BigInt(`0x${account.verifier}`));
      const expiresAt = new Date(clock().getTime() + srpSessionSeconds * 1000);
      return {
        sessionId: await sessions.add(account.userId, session),
        salt: account.salt,
        B: pad(session.serverPublic).toString('hex'),
        expiresAt,
      };
    },

    async prove({ sessionId, A, M1 }, _clientAddress) {
      const clientPublic = parseClientPublic(A);
      const id = sessionId ?? (await sessions.findByClientPublic(clientPublic));
      const taken = id === undefined ? undefined : await sessions.take(id);
      if (taken === undefined) throw new AppError('srp_session_expired');
      const account = await accounts.findActiveById(taken.accountId);
      if (account === undefined || taken.session.clientPublic !== clientPublic) {
        throw new AppError('invalid_proof');
      }
      const serverProof = await answerProof(
        taken.session,
        BigInt(`0x${account.verifier}`),
        Buffer.from(M1, 'hex'),
      );
      if (serverProof === undefined) throw new AppError('invalid_proof');
      return { account, serverProof: serverProof.toString('hex') };
    },
  };
}
