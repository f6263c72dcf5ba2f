import type { z } from 'zod';
import type { Accounts } from '../../accounts/accounts.ts';
import { byOwner } from '../../trail/event.ts';
import type { AuditTrail } from '../../trail/trail.ts';
import type { Database } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { Origin } from '../../http/requests/request.ts';
import type { LoginFailures } from '../login/login-failures.ts';
import type { PasswordVerifier } from './password-verifier.ts';
import type { ProofLimits } from '../login/proof-limits.ts';
import type { Reauthenticated, ReauthRequest } from './schema.ts';
import type { ReauthTokens } from '../../tokens/reauth-token.ts';
import type { ClientProof, SrpExchange } from '../login/srp-exchange.ts';

/** Proving once more who one is, before what an access token alone must not do. */
export interface Reauth {
  /**
   * For accounts made here: users of other issuers have no verifier, and get access_denied.
   * With a password, throws invalid_credentials, reauth_password_refused or reauth_busy; with a
   * proof, as SrpExchange.prove does, and invalid_credentials for the proof of another account;
   * with either, rate_limited, signer_unavailable or audit_backlog_full.
   */
  reauthenticate(
    caller: Caller,
    evidence: z.output<typeof ReauthRequest>,
    from: Origin,
  ): Promise<z.input<typeof Reauthenticated>>;
}

interface ReauthOptions {
  /** Our own. */
  readonly issuer: string;
  readonly reauthPassword: 'allow' | 'refuse';
  readonly accounts: Accounts;
  readonly exchange: SrpExchange;
  readonly passwords: PasswordVerifier;
  readonly proofLimits: ProofLimits;
  readonly failures: LoginFailures;
  readonly reauthTokens: ReauthTokens;
  readonly db: Database;
  readonly audit: AuditTrail;
}

export function createReauth(options: ReauthOptions): Reauth {
  const { accounts, exchange, passwords, proofLimits, failures, reauthTokens, db, audit } = options;

  async function checkPassword(caller: Caller, password: string, address: string): Promise<void> {
    if (options.reauthPassword === 'refuse') throw new AppError('reauth_password_refused');
    const account = await accounts.findActiveById(caller.userId);
    if (account === undefined) throw new AppError('invalid_credentials');
    const attempt = await proofLimits.admit({ accountId: account.userId, address });
    try {
      if (await passwords.matches(password, account)) {
        await attempt.succeeded();
        return;
      }
      await failures.add(account, address);
    } catch (error) {
      await attempt.withdraw();
      throw error;
    }
    throw new AppError('invalid_credentials');
  }

  async function checkProof(caller: Caller, proof: ClientProof, address: string): Promise<void> {
    const { account } = await exchange.prove(proof, address);
    const isOwn = account.userId === caller.userId && account.method === 'password';
    if (!isOwn) throw new AppError('invalid_credentials');
  }

  return {
    async reauthenticate(caller, evidence, { address, requestId }) {
      const { sessionId } = caller;
      if (caller.issuer !== options.issuer || sessionId === undefined) {
        throw new AppError('access_denied');
      }
      audit.assertWritable();
      const isPassword = 'password' in evidence;
      await (isPassword
        ? checkPassword(caller, evidence.password, address)
        : checkProof(caller, evidence, address));
      const issued = await reauthTokens.issue(caller);
      await db.asUser(caller, (tx) =>
        audit.append(tx, {
          action: 'auth.reauthenticated',
          ...byOwner(caller, requestId),
          resource: { type: 'session', id: sessionId },
          data: { method: isPassword ? 'password' : 'srp' },
        }),
      );
      return issued;
    },
  };
}
