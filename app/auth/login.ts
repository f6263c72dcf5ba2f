import { randomUUID } from 'node:crypto';
import type { Accounts, ActiveAccount } from '../accounts/service.ts';
import { byOwner } from '../audit/event.ts';
import type { AuditTrail } from '../audit/trail.ts';
import type { Clock } from '../clock.ts';
import type { Database } from '../db/database.ts';
import { AppError } from '../errors.ts';
import { accessTokenSeconds, type AccessTokens } from './access-token.ts';
import { pad } from '../srp/group.ts';
import { srpSessionSeconds, type SrpSessions } from './srp-sessions.ts';
import { answerProof, createChallenge, parseClientPublic } from '../srp/srp.ts';

export interface Challenge {
  readonly sessionId: string;
  /** Hex. */
  readonly salt: string;
  /** 768 hex digits. */
  readonly B: string;
  readonly expiresAt: Date;
}

export interface LoggedIn {
  readonly accessToken: string;
  readonly tokenType: 'Bearer';
  readonly expiresIn: number;
  /** Hex. */
  readonly M2: string;
}

export interface Login {
  /** Throws invalid_public_value, user_not_found or cache_unavailable. */
  challenge(input: { email: string; A: string }): Promise<Challenge>;
  /** One attempt a session. Throws srp_session_expired, invalid_proof or signer_unavailable. */
  verify(
    input: { sessionId?: string | undefined; A: string; M1: string },
    requestId: string,
  ): Promise<LoggedIn>;
}

interface LoginOptions {
  readonly accounts: Accounts;
  readonly sessions: SrpSessions;
  readonly tokens: AccessTokens;
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly clock: Clock;
}

export function createLogin(options: LoginOptions): Login {
  const { accounts, sessions, tokens, db, audit, clock } = options;

  /** The account that the proof shows to be there, and our own proof for it. */
  async function prove(
    sessionId: string,
    clientPublic: bigint,
    clientProof: string,
  ): Promise<{ account: ActiveAccount; serverProof: Buffer }> {
    const taken = await sessions.take(sessionId);
    if (taken === undefined) throw new AppError('srp_session_expired');
    const account = await accounts.findActiveById(taken.accountId);
    if (account === undefined || taken.session.clientPublic !== clientPublic) {
      throw new AppError('invalid_proof');
    }
    const serverProof = await answerProof(
      taken.session,
      BigInt(`0x${account.verifier}`),
      Buffer.from(clientProof, 'hex'),
    );
    if (serverProof === undefined) throw new AppError('invalid_proof');
    return { account, serverProof };
  }

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

    async verify({ sessionId, A, M1 }, requestId) {
      const clientPublic = parseClientPublic(A);
      const id = sessionId ?? (await sessions.findByClientPublic(clientPublic));
      if (id === undefined) throw new AppError('srp_session_expired');
      const { account, serverProof } = await prove(id, clientPublic, M1);
      const loginId = randomUUID();
      const accessToken = await tokens.issue({ ...account, sessionId: loginId });
      await db.asUser(account, (tx) =>
        audit.append(tx, {
          action: 'auth.login',
          ...byOwner(account, requestId),
          resource: { type: 'session', id: loginId },
          data: { method: 'srp' },
        }),
      );
      return {
        accessToken,
        tokenType: 'Bearer',
        expiresIn: accessTokenSeconds,
        M2: serverProof.toString('hex'),
      };
    },
  };
}
