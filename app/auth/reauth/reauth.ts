import type { z } from 'zod';
import { AppError } from '../../errors/app-error.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { ReauthTokens } from '../../tokens/reauth-token.ts';
import { backlogChecked, type Act } from '../../audit-trail/act.ts';
import type { Proven, SrpExchange } from '../login/srp-exchange.ts';
import type { PasswordCheck } from './password-check.ts';
import type { Reauthenticated, ReauthRequest } from './schema.ts';

interface ReauthOptions {
  /** The vault's own name as an issuer. */
  readonly issuer: string;
  readonly reauthPassword: 'allow' | 'refuse';
  readonly exchange: SrpExchange;
  readonly passwordCheck: PasswordCheck;
  readonly reauthTokens: ReauthTokens;
  readonly act: Act;
}

export type Reauth = ReturnType<typeof createReauth>;

/** Creates the service that lets callers prove again who they are, for sensitive actions. */
export function createReauth(options: ReauthOptions) {
  const { issuer, exchange, passwordCheck, reauthTokens, act } = options;

  function assertOwn({ caller }: ServiceRequest, { account }: Proven): void {
    const isOwn = account.userId === caller.userId && account.method === 'password';
    if (!isOwn) throw new AppError('invalid_credentials');
  }

  /** Issues a token to a caller whose proof was right. */
  async function issue(request: ServiceRequest, method: 'password' | 'srp') {
    const { caller } = request;
    const issued = await reauthTokens.issue(caller);
    const event = {
      action: 'auth.reauthenticated',
      // A token of another issuer may name no session.
      resource: { type: 'session', id: caller.sessionId ?? caller.userId },
      data: { method },
    } as const;
    return act(request, async () => ({ answer: issued, events: [event] }), backlogChecked);
  }

  async function reauthenticate(
    request: ServiceRequest,
    evidence: z.output<typeof ReauthRequest>,
  ): Promise<z.input<typeof Reauthenticated>> {
    const { caller } = request;
    const isOfVault = caller.issuer === issuer;
    if (isOfVault && caller.sessionId === undefined) throw new AppError('access_denied');
    if (!passwordCheck.isPossible(caller)) throw new AppError('access_denied');
    act.assertWritable(request);
    if ('password' in evidence) {
      if (options.reauthPassword === 'refuse') throw new AppError('reauth_password_refused');
      await passwordCheck.assertRight(request, evidence.password);
      return issue(request, 'password');
    }
    if (!isOfVault) throw new AppError('access_denied');
    return exchange.prove(request, evidence, async (proven) => {
      assertOwn(request, proven);
      return { ...(await issue(request, 'srp')), M2: proven.serverProof };
    });
  }

  return {
    /**
     * Issues a reauthentication token to a caller who proves again who they are. Throws
     * access_denied for users whose password nobody can check, which are those of other issuers
     * than the identity provider, and for a login proof of another issuer's user. With a password,
     * throws reauth_password_refused, or as `PasswordCheck.assertRight` does. With a login proof,
     * throws as `SrpExchange.prove` does, and invalid_credentials for the proof of another account.
     * With either, throws rate_limited, SignerUnavailable or audit_backlog_full.
     */
    reauthenticate,
  };
}
