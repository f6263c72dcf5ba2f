import { randomUUID } from 'node:crypto';
import { byOwner } from '../audit/event.ts';
import type { AuditTrail } from '../audit/trail.ts';
import type { Database } from '../db/database.ts';
import { accessTokenSeconds, type AccessTokens } from './access-token.ts';
import type { ClientProof, SrpExchange } from './srp-exchange.ts';

export interface LoggedIn {
  readonly accessToken: string;
  readonly tokenType: 'Bearer';
  readonly expiresIn: number;
  /** Hex. */
  readonly M2: string;
}

export interface Login {
  /** Throws srp_session_expired, invalid_proof, rate_limited or signer_unavailable. */
  verify(proof: ClientProof, from: { address: string; requestId: string }): Promise<LoggedIn>;
}

interface LoginOptions {
  readonly exchange: SrpExchange;
  readonly tokens: AccessTokens;
  readonly db: Database;
  readonly audit: AuditTrail;
}

export function createLogin({ exchange, tokens, db, audit }: LoginOptions): Login {
  return {
    async verify(proof, { address, requestId }) {
      const { account, serverProof } = await exchange.prove(proof, address);
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
        M2: serverProof,
      };
    },
  };
}
