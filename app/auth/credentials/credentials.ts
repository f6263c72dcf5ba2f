import type { z } from 'zod';
import { holdAccount, storeCredential } from '../../accounts/credentials.ts';
import type { CredentialMethod } from '../../db/tables/accounts.ts';
import { fingerprint } from '../../accounts/fingerprint.ts';
import { assertSaltLength } from '../../accounts/salt-length.ts';
import { holdUnchanged, type Accounts } from '../../accounts/accounts.ts';
import { byOwner, type AuditEvent } from '../../trail/event.ts';
import type { AuditTrail } from '../../trail/trail.ts';
import type { Clock } from '../../async/clock.ts';
import type { Database, Tx } from '../../db/database.ts';
import { assertEnvelope } from '../../envelopes/key-form.ts';
import { AppError } from '../../errors/app-error.ts';
import { isRecovery, type Caller } from '../../http/requests/caller.ts';
import type { CredentialsChange } from './schema.ts';
import { endSessions } from '../../sessions/login-sessions.ts';
import { parseRekey, storeEnvelopes } from './rekey.ts';
import type { Revocations } from '../../sessions/revocations.ts';

type Change = z.output<typeof CredentialsChange>;

/** What an account logs in with, together with the envelopes that hang on it. */
export interface Credentials {
  /**
   * A new password, and a new master key where the change brings one: all of it or nothing. Other
   * sessions end within 5 s, and after a recovery login the caller's too. Of changes at the same time
   * one wins. Throws access_denied for users of other issuers, invalid_key_length, rekey_incomplete,
   * precondition_failed where the account changed meanwhile, or invalid_token where the session ended.
   */
  change(caller: Caller, change: Change, requestId: string): Promise<void>;
}

interface CredentialsOptions {
  /** Our own. */
  readonly issuer: string;
  readonly unknownUser: 'reveal' | 'decoy';
  readonly accounts: Accounts;
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly revocations: Revocations;
  readonly clock: Clock;
}

export function createCredentials(options: CredentialsOptions): Credentials {
  const { issuer, unknownUser, accounts, db, audit, revocations, clock } = options;

  /** Answers how many other sessions there were. */
  async function endOthers(tx: Tx, caller: Caller, sessionId: string): Promise<number> {
    // Locks all of them, the caller's too.
    const ended = await endSessions(tx, caller.userId, sessionId);
    await assertNotEnded(tx, sessionId);
    if (isRecovery(caller)) await revocations.revoke(tx, sessionId);
    return ended;
  }

  return {
    async change(caller, change, requestId) {
      const { sessionId } = caller;
      if (caller.issuer !== issuer || sessionId === undefined) throw new AppError('access_denied');
      const { salt, verifier } = change;
      const masterEnvelope = assertEnvelope(change.masterEnvelope);
      const rekey = parseRekey(change);
      assertSaltLength(salt, unknownUser);
      if (rekey !== undefined) {
        assertSaltLength(rekey.recovery.recoverySalt, unknownUser, 'recovery.recoverySalt');
      }
      audit.assertWritable();
      const account = await accounts.findActiveById(caller.userId);
      await db.asService(async (tx) => {
        await holdAccount(tx, caller);
        if (account === undefined || !(await holdUnchanged(tx, account))) {
          throw new AppError('precondition_failed');
        }
        const now = clock();
        await storeCredential(tx, caller, 'password', { salt, verifier }, now);
        const wrapped = { masterEnvelope, rekey };
        const events = await storeEnvelopes(tx, caller, wrapped, requestId, now);
        const sessions = await endOthers(tx, caller, sessionId);
        const changed = (method: CredentialMethod, shown: string): AuditEvent => ({
          action: 'credentials.changed',
          ...byOwner(caller, requestId),
          resource: { type: 'account', id: caller.userId },
          data: {
            method,
            credentialFingerprint: shown,
            isRekey: rekey !== undefined,
            isRecovery: isRecovery(caller),
            sessions,
          },
        });
        await audit.append(tx, changed('password', fingerprint(salt, verifier)));
        if (rekey !== undefined) {
          const { recoverySalt, recoveryVerifier } = rekey.recovery;
          await audit.append(tx, changed('recovery', fingerprint(recoverySalt, recoveryVerifier)));
        }
        for (const event of events) await audit.append(tx, event);
      });
    },
  };
}

/** Locks it. Throws invalid_token for a session that another change ended since it was let in. */
async function assertNotEnded(tx: Tx, sessionId: string): Promise<void> {
  const session = await tx
    .selectFrom('login_sessions')
    .select('revoked_at')
    .where('id', '=', sessionId)
    .forUpdate()
    .executeTakeFirst();
  if (session !== undefined && session.revoked_at !== null) throw new AppError('invalid_token');
}
