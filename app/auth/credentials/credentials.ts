import type { z } from 'zod';
import type { Accounts } from '../../accounts/accounts.ts';
import { lockAccount, storePassword } from '../../accounts/credential-rows.ts';
import { assertSaltLength } from '../../accounts/salt-length.ts';
import type { Clock } from '../../async/clock.ts';
import type { Tx } from '../../db/database.ts';
import type { CredentialMethod } from '../../db/tables/accounts.ts';
import type { RowCipher } from '../../encryption/row-cipher.ts';
import { assertEnvelope } from '../../envelopes/key-form.ts';
import { AppError } from '../../errors/app-error.ts';
import { isRecovery, type Caller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import { endSessions, assertNotEnded } from '../../sessions/login-sessions.ts';
import type { Revocations } from '../../sessions/revocations.ts';
import type { Act } from '../../audit-trail/act.ts';
import type { RequestEvent } from '../../audit-trail/event.ts';
import { parseRekey, storeEnvelopes, storeIdentity, type Rekey } from './rekey.ts';
import type { CredentialsChange } from './schema.ts';

type Change = z.output<typeof CredentialsChange>;

interface CredentialsOptions {
  /** The vault's own name as an issuer. */
  readonly issuer: string;
  readonly unknownUser: 'reveal' | 'decoy';
  readonly accounts: Accounts;
  readonly cipher: RowCipher;
  readonly act: Act;
  readonly revocations: Revocations;
  readonly clock: Clock;
}

export type Credentials = ReturnType<typeof createCredentials>;

/** Creates the service that changes an account's credentials and the envelopes wrapped by them. */
export function createCredentials(options: CredentialsOptions) {
  const { issuer, unknownUser, accounts, cipher, act, revocations, clock } = options;

  /**
   * Ends all login sessions of the user except the caller's. If the caller's session is of a
   * recovery login, ends it too. Resolves with the number of ended sessions without the caller's.
   */
  async function endOthers(tx: Tx, caller: Caller, sessionId: string): Promise<number> {
    // endSessions locks all open login sessions of the user, including the caller's session.
    const ended = await endSessions(tx, caller.userId, sessionId);
    await assertNotEnded(tx, caller, sessionId);
    if (isRecovery(caller)) await revocations.revoke(tx, caller, sessionId);
    return ended;
  }

  function assertSaltLengths({ salt }: Change, rekey: Rekey | undefined): void {
    assertSaltLength(salt, unknownUser);
    if (rekey === undefined) return;
    assertSaltLength(rekey.recovery.recoverySalt, unknownUser, 'recovery.recoverySalt');
  }

  async function change(request: ServiceRequest, input: Change): Promise<void> {
    const { caller } = request;
    const { sessionId } = caller;
    if (caller.issuer !== issuer || sessionId === undefined) throw new AppError('access_denied');
    const masterEnvelope = assertEnvelope(input.masterEnvelope);
    const rekey = parseRekey(input);
    assertSaltLengths(input, rekey);
    const account = await accounts.findActiveById(caller.userId);
    await act.asService(request, async (tx) => {
      await lockAccount(tx, caller);
      if (account === undefined || !(await accounts.lockUnchanged(tx, account))) {
        throw new AppError('precondition_failed');
      }
      const now = clock();
      const { salt, verifier } = input;
      await storePassword(tx, cipher, caller, { salt, verifier }, now);
      const stored = await storeEnvelopes(tx, cipher, caller, { masterEnvelope, rekey }, now);
      const sessions = await endOthers(tx, caller, sessionId);
      const identity =
        rekey === undefined ? [] : await storeIdentity(tx, { ...caller, issuer }, rekey, now);
      const changed = changedEvents(caller, rekey, sessions);
      return { answer: undefined, events: [...changed, ...stored, ...identity] };
    });
  }

  return {
    /**
     * Sets a new password and, if the change contains one, a new master key, in one transaction.
     * Ends the other login sessions within 5 s, and the caller's session too if it is of a recovery
     * login. Of concurrent changes, only one succeeds. Throws access_denied for users of other
     * issuers, validation_failed, invalid_key_length, rekey_incomplete, identity_unproven,
     * audit_backlog_full, precondition_failed if the account changed meanwhile, or invalid_token if
     * the login session ended.
     */
    change,
  };
}

/** Returns the events of the changed credentials, one for each login method. */
function changedEvents(caller: Caller, rekey: Rekey | undefined, sessions: number): RequestEvent[] {
  const changed = (method: CredentialMethod): RequestEvent => ({
    action: 'credentials.changed',
    resource: { type: 'account', id: caller.userId },
    data: {
      method,
      isRekey: rekey !== undefined,
      isRecovery: isRecovery(caller),
      sessions,
    },
  });
  const password = changed('password');
  return rekey === undefined ? [password] : [password, changed('recovery')];
}
