import type { z } from 'zod';
import type { Accounts } from '../../accounts/accounts.ts';
import { AppError } from '../../errors/app-error.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { ReauthTokens } from '../../tokens/reauth-token.ts';
import { backlogChecked, type Act } from '../../audit-trail/act.ts';
import type { LoginFailures } from '../login/login-failures.ts';
import type { ProofLimits } from '../login/login-proof-limits.ts';
import type { Proven, SrpExchange } from '../login/srp-exchange.ts';
import type { PasswordTurns } from './password-turns.ts';
import { matchesVerifier } from './password-verifier.ts';
import type { Reauthenticated, ReauthRequest } from './schema.ts';

interface ReauthOptions {
  /** The vault's own name as an issuer. */
  readonly issuer: string;
  readonly reauthPassword: 'allow' | 'refuse';
  readonly accounts: Accounts;
  readonly exchange: SrpExchange;
  readonly passwordTurns: PasswordTurns;
  readonly proofLimits: ProofLimits;
  readonly failures: LoginFailures;
  readonly reauthTokens: ReauthTokens;
  readonly act: Act;
}

export type Reauth = ReturnType<typeof createReauth>;

/** Creates the service that lets callers prove again who they are, for sensitive actions. */
export function createReauth(options: ReauthOptions) {
  const { issuer, accounts, exchange, passwordTurns, proofLimits, failures, reauthTokens, act } =
    options;

  async function checkPassword(
    { caller, clientAddress }: ServiceRequest,
    password: string,
  ): Promise<void> {
    const account = await accounts.findActiveById(caller.userId);
    if (account === undefined) throw new AppError('invalid_credentials');
    const { userId: accountId } = account;
    const { sessionId } = caller;
    const attempt = await proofLimits.admit({ accountId, clientAddress, sessionId });
    try {
      if (await matchesVerifier(password, account)) {
        await attempt.succeeded();
        return;
      }
      await failures.add(account, clientAddress);
    } catch (error) {
      await attempt.withdraw();
      throw error;
    }
    throw new AppError('invalid_credentials');
  }

  async function checkPasswordInTurn(request: ServiceRequest, password: string): Promise<void> {
    if (options.reauthPassword === 'refuse') throw new AppError('reauth_password_refused');
    const { userId } = request.caller;
    await passwordTurns.take(userId, () => checkPassword(request, password));
  }

  function assertOwn({ caller }: ServiceRequest, { account }: Proven): void {
    const isOwn = account.userId === caller.userId && account.method === 'password';
    if (!isOwn) throw new AppError('invalid_credentials');
  }

  async function reauthenticate(
    request: ServiceRequest,
    evidence: z.output<typeof ReauthRequest>,
  ): Promise<z.input<typeof Reauthenticated>> {
    const { caller } = request;
    const { sessionId } = caller;
    if (caller.issuer !== issuer || sessionId === undefined) throw new AppError('access_denied');
    act.assertWritable(request);
    const issue = async (method: 'password' | 'srp') => {
      const issued = await reauthTokens.issue(caller);
      const event = {
        action: 'auth.reauthenticated',
        resource: { type: 'session', id: sessionId },
        data: { method },
      } as const;
      return act(request, async () => ({ answer: issued, events: [event] }), backlogChecked);
    };
    if ('password' in evidence) {
      await checkPasswordInTurn(request, evidence.password);
      return issue('password');
    }
    return exchange.prove(request, evidence, async (proven) => {
      assertOwn(request, proven);
      return { ...(await issue('srp')), M2: proven.serverProof };
    });
  }

  return {
    /**
     * Issues a reauthentication token to a caller who proves again who they are. Throws
     * access_denied for users of other issuers, who have no verifier here. With a password, throws
     * invalid_credentials, reauth_password_refused, or as `PasswordTurns.take` does. With a login
     * proof, throws as `SrpExchange.prove` does, and invalid_credentials for the proof of another
     * account. With either, throws rate_limited, SignerUnavailable or audit_backlog_full.
     */
    reauthenticate,
  };
}
