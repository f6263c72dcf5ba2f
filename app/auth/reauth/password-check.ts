import type { Accounts } from '../../accounts/accounts.ts';
import type { Database } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { IdentityProvider } from '../../identity-provider/identity-provider.ts';
import { findSubject } from '../../tokens/external-issuers/identities.ts';
import type { LoginFailures } from '../login/login-failures.ts';
import type { ProofLimits } from '../login/login-proof-limits.ts';
import type { PasswordTurns } from './password-turns.ts';
import { matchesVerifier } from './password-verifier.ts';

interface PasswordCheckOptions {
  /** The vault's own name as an issuer. */
  readonly issuer: string;
  readonly db: Database;
  readonly accounts: Accounts;
  readonly identityProvider: IdentityProvider | undefined;
  readonly passwordTurns: PasswordTurns;
  readonly proofLimits: ProofLimits;
  readonly failures: LoginFailures;
}

/** Milliseconds that one check may take at the identity provider. */
const providerMs = 5_000;

/** A user whose password can be checked, in the user's present tenant. */
interface Checkable {
  readonly tenantId: string;
  matches(password: string): Promise<boolean>;
}

/**
 * Creates the check of the passwords of users. The vault checks those of its own accounts; the
 * identity provider checks those of its users.
 */
export function createPasswordCheck(options: PasswordCheckOptions) {
  const { issuer, db, accounts, identityProvider, passwordTurns, proofLimits, failures } = options;

  async function findOwn({ userId }: Caller): Promise<Checkable> {
    const account = await accounts.findActiveById(userId);
    if (account === undefined) throw new AppError('invalid_credentials');
    const { tenantId } = account;
    return { tenantId, matches: (password) => matchesVerifier(password, account) };
  }

  async function findAtProvider(caller: Caller): Promise<Checkable> {
    const check = identityProvider?.checkPassword;
    const subject = await db.asService((tx) => findSubject(tx, caller));
    if (check === undefined || subject === undefined) throw new AppError('access_denied');
    const { tenantId } = caller;
    const matches = (password: string) => check(subject, password, AbortSignal.timeout(providerMs));
    return { tenantId, matches };
  }

  async function check(request: ServiceRequest, password: string): Promise<void> {
    const { caller, clientAddress } = request;
    const { userId: accountId, sessionId } = caller;
    const user = await (caller.issuer === issuer ? findOwn(caller) : findAtProvider(caller));
    const attempt = await proofLimits.admit({ accountId, clientAddress, sessionId });
    try {
      if (await user.matches(password)) {
        await attempt.succeeded();
        return;
      }
      await failures.add({ userId: accountId, tenantId: user.tenantId }, clientAddress);
    } catch (error) {
      await attempt.withdraw();
      throw error;
    }
    throw new AppError('invalid_credentials');
  }

  return {
    /** Returns whether there is somebody who can check the password of a caller. */
    isPossible: ({ issuer: callerIssuer }: Caller): boolean =>
      callerIssuer === issuer ||
      (callerIssuer === identityProvider?.issuer && identityProvider.checkPassword !== undefined),

    /**
     * Checks the caller's password in turn. Throws invalid_credentials, rate_limited, reauth_busy
     * or identity_provider_unavailable, and access_denied unless the check `isPossible`.
     */
    assertRight: (request: ServiceRequest, password: string): Promise<void> =>
      passwordTurns.take(request.caller.userId, () => check(request, password)),
  };
}

export type PasswordCheck = ReturnType<typeof createPasswordCheck>;
