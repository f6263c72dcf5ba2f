import { v7 as uuidv7 } from 'uuid';
import { recoveryScope } from '../../http/requests/caller.ts';
import type { Origin } from '../../http/requests/request.ts';
import type { AccessTokens, TokenSubject } from '../../tokens/access-token.ts';
import type { LoginSessions } from '../../sessions/login-sessions.ts';
import type { ClientProof, SrpExchange } from './srp-exchange.ts';
import { accessTokenSeconds, recoveryTokenSeconds } from '../../tokens/token-lifetime.ts';
import type { TokenPair } from '../../sessions/token-pair.ts';

/** The second step of a login as a client sends it. */
interface LoginProof extends ClientProof {
  /** The device that the session is for. */
  readonly deviceId?: string | undefined;
}

/** After a login by the recovery words there is no refresh token. */
interface LoggedIn extends Omit<TokenPair, 'refreshToken'> {
  readonly refreshToken?: string;
  /** Hex. */
  readonly M2: string;
}

export interface Login {
  /**
   * Opens a session. That of a login by the recovery words reads the recovery envelope and sets new
   * credentials, and nothing else. Throws srp_session_expired, invalid_proof, rate_limited,
   * device_unknown, device_blacklisted or SignerUnavailable.
   */
  verify(proof: LoginProof, from: Origin): Promise<LoggedIn>;
}

interface LoginOptions {
  readonly exchange: SrpExchange;
  readonly tokens: AccessTokens;
  readonly sessions: LoginSessions;
}

export function createLogin({ exchange, tokens, sessions }: LoginOptions): Login {
  async function issue(subject: TokenSubject) {
    return { accessToken: await tokens.issue(subject), expiresIn: accessTokenSeconds };
  }

  async function issueRecovery(subject: TokenSubject) {
    const narrowed = { ...subject, roles: [], scopes: [recoveryScope] };
    const accessToken = await tokens.issue(narrowed, recoveryTokenSeconds);
    return { accessToken, expiresIn: recoveryTokenSeconds };
  }

  return {
    async verify(proof, { address, requestId }) {
      const { account, serverProof } = await exchange.prove(proof, address);
      const session = { id: uuidv7(), deviceId: proof.deviceId };
      const subject = { ...account, sessionId: session.id };
      const { accessToken, expiresIn } = await (account.method === 'recovery'
        ? issueRecovery(subject)
        : issue(subject));
      const refreshToken = await sessions.open(account, session, requestId);
      return {
        accessToken,
        tokenType: 'Bearer',
        expiresIn,
        ...(refreshToken === undefined ? {} : { refreshToken }),
        M2: serverProof,
      };
    },
  };
}
