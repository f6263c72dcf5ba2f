import { v7 as uuidv7 } from 'uuid';
import { AppError } from '../errors.ts';
import type { AccessTokens } from './access-token.ts';
import type { LoginSessions } from './login-sessions.ts';
import type { ClientProof, SrpExchange } from './srp-exchange.ts';
import { tokenPair, type TokenPair } from './token-pair.ts';

/** The second step of a login as a client sends it. */
export interface LoginProof extends ClientProof {
  /** The device that the session is for. */
  readonly deviceId?: string | undefined;
}

export interface LoggedIn extends TokenPair {
  /** Hex. */
  readonly M2: string;
}

export interface Login {
  /**
   * Opens a session.
   * Throws srp_session_expired, invalid_proof, rate_limited, device_unknown or SignerUnavailable.
   */
  verify(proof: LoginProof, from: { address: string; requestId: string }): Promise<LoggedIn>;
}

interface LoginOptions {
  readonly exchange: SrpExchange;
  readonly tokens: AccessTokens;
  readonly sessions: LoginSessions;
}

export function createLogin({ exchange, tokens, sessions }: LoginOptions): Login {
  return {
    async verify(proof, { address, requestId }) {
      const { account, serverProof } = await exchange.prove(proof, address);
      // No device is registered with this vault, so none is known.
      if (proof.deviceId !== undefined) throw new AppError('device_unknown');
      const sessionId = uuidv7();
      const accessToken = await tokens.issue({ ...account, sessionId });
      const refreshToken = await sessions.open(account, sessionId, requestId);
      return { ...tokenPair(accessToken, refreshToken), M2: serverProof };
    },
  };
}
