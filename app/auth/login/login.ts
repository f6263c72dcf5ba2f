import { v7 as uuidv7 } from 'uuid';
import { recoveryScope } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { RateLimits } from '../../limits/rate-limits.ts';
import type { LoginSessions } from '../../sessions/login-sessions.ts';
import type { TokenPair } from '../../sessions/token-pair.ts';
import type { AccessTokens, TokenSubject } from '../../tokens/access-token.ts';
import { accessTokenSeconds, recoveryTokenSeconds } from '../../tokens/token-rules.ts';
import type { ClientProof, SrpExchange } from './srp-exchange.ts';

/** The second step of a login as a client sends it. */
interface LoginProof extends ClientProof {
  /** The device to which the login session is bound. */
  readonly deviceId?: string | undefined;
}

/** The result of a login; a recovery login gets no refresh token. */
interface LoggedIn extends Omit<TokenPair, 'refreshToken'> {
  readonly refreshToken?: string;
  /** The server's login proof in hex. */
  readonly M2: string;
}

interface LoginOptions {
  readonly exchange: SrpExchange;
  readonly tokens: AccessTokens;
  readonly sessions: LoginSessions;
  readonly limits: RateLimits;
}

export type Login = ReturnType<typeof createLogin>;

/** Creates the service that logs users in. */
export function createLogin({ exchange, tokens, sessions, limits }: LoginOptions) {
  async function issue(subject: TokenSubject) {
    return { accessToken: await tokens.issue(subject), expiresIn: accessTokenSeconds };
  }

  async function issueRecovery(subject: TokenSubject) {
    const narrowed = { ...subject, roles: [], scopes: [recoveryScope] };
    const accessToken = await tokens.issue(narrowed, recoveryTokenSeconds);
    return { accessToken, expiresIn: recoveryTokenSeconds };
  }

  return {
    /**
     * Checks a login proof and opens a login session. The session of a recovery login can only read
     * the recovery envelope and set new credentials. Throws invalid_public_value,
     * srp_session_expired, invalid_proof, rate_limited, cache_unavailable, device_unknown,
     * device_blacklisted or SignerUnavailable.
     */
    verify: (request: ServiceRequest<undefined>, proof: LoginProof): Promise<LoggedIn> =>
      exchange.prove(request, proof, async ({ account, serverProof }) => {
        // Only the owner can use up this limit, which bounds the rows and entries of logins.
        await limits.consume('login-account', account.userId);
        const session = { id: uuidv7(), deviceId: proof.deviceId };
        const subject = { ...account, sessionId: session.id };
        const { accessToken, expiresIn } = await (account.method === 'recovery'
          ? issueRecovery(subject)
          : issue(subject));
        const refreshToken = await sessions.open(request, account, session);
        return {
          accessToken,
          tokenType: 'Bearer',
          expiresIn,
          ...(refreshToken === undefined ? {} : { refreshToken }),
          M2: serverProof,
        };
      }),
  };
}
