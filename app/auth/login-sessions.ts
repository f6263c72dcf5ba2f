import { sql, type Selectable } from 'kysely';
import type { z } from 'zod';
import { holdUnchanged, type ActiveAccount } from '../accounts/service.ts';
import { byOwner } from '../audit/event.ts';
import type { AuditTrail } from '../audit/trail.ts';
import type { Clock } from '../clock.ts';
import type { Database, Tx } from '../db/database.ts';
import type { Schema } from '../db/schema.ts';
import { AppError } from '../errors.ts';
import type { Caller } from '../http/caller.ts';
import { issueRefreshToken, refreshTokenExpiry } from './refresh-tokens.ts';
import type { Revocations } from './revocations.ts';
import type { SessionView } from './schema.ts';

type View = z.input<typeof SessionView>;

/** Logins that have not ended: what the `sid` of an access token names. */
export interface LoginSessions {
  /**
   * Answers the first refresh token of a new session. Throws invalid_proof where the account was
   * closed, or got other credentials, rights or another tenant, since the proof.
   */
  open(account: ActiveAccount, sessionId: string, requestId: string): Promise<string>;
  /** Newest first; `cursor` is the last id of the page before, and undefined after the last page. */
  list(
    caller: Caller,
    page: { limit: number; cursor?: string | undefined },
  ): Promise<{ sessions: View[]; cursor: string | undefined }>;
  /**
   * Ends a session of the caller, whatever the state of the audit backlog; again, it changes
   * nothing. Throws not_found.
   */
  end(caller: Caller, sessionId: string, requestId: string): Promise<void>;
}

interface LoginSessionsOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly revocations: Revocations;
  readonly clock: Clock;
}

export function createLoginSessions(options: LoginSessionsOptions): LoginSessions {
  const { db, audit, revocations, clock } = options;
  return {
    // The service's transaction: refresh tokens are in no user's reach.
    open: (account, sessionId, requestId) =>
      db.asService(async (tx) => {
        if (!(await holdUnchanged(tx, account))) throw new AppError('invalid_proof');
        const now = clock();
        await tx
          .insertInto('login_sessions')
          .values({
            id: sessionId,
            user_id: account.userId,
            tenant_id: account.tenantId,
            created_at: now,
            last_used_at: now,
            expires_at: refreshTokenExpiry(now),
          })
          .execute();
        const refreshToken = await issueRefreshToken(tx, sessionId, now);
        await audit.append(tx, {
          action: 'auth.login',
          ...byOwner(account, requestId),
          resource: { type: 'session', id: sessionId },
          data: { method: 'srp' },
        });
        return refreshToken;
      }),

    list: (caller, { limit, cursor }) =>
      db.asUser(caller, async (tx) => {
        let query = tx
          .selectFrom('login_sessions')
          .selectAll()
          .where('user_id', '=', caller.userId)
          .where('revoked_at', 'is', null)
          .where('expires_at', '>', clock())
          .orderBy('id', 'desc')
          .limit(limit + 1);
        if (cursor !== undefined) query = query.where('id', '<', cursor);
        const rows = await query.execute();
        const sessions = rows.slice(0, limit).map((row) => toView(row, caller));
        return { sessions, cursor: rows.length > limit ? sessions.at(-1)?.id : undefined };
      }),

    end: (caller, sessionId, requestId) =>
      db.asUser(caller, async (tx) => {
        const session = await tx
          .selectFrom('login_sessions')
          .select('revoked_at')
          .where('id', '=', sessionId)
          .forUpdate()
          .executeTakeFirst();
        if (session === undefined) throw new AppError('not_found');
        if (session.revoked_at !== null) return;
        await revocations.revoke(tx, sessionId);
        await audit.append(tx, {
          action: 'auth.session_revoked',
          ...byOwner(caller, requestId),
          resource: { type: 'session', id: sessionId },
          data: { bySession: caller.sessionId ?? null },
        });
      }),
  };
}

/** Ends every session of a user, in each process within 5 s. Answers how many were open. */
export async function endSessions(tx: Tx, userId: string): Promise<number> {
  const { numUpdatedRows } = await tx
    .updateTable('login_sessions')
    .set({ revoked_at: sql`now()` })
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/**
 * Removes the sessions that ended before, and the refresh tokens of living ones that did: from then
 * on the reuse of such a token is no longer noticed, only refused. Answers the number of sessions.
 */
export async function removeExpired(tx: Tx, before: Date): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('login_sessions')
    .where('expires_at', '<', before)
    .executeTakeFirst();
  await tx.deleteFrom('refresh_tokens').where('expires_at', '<', before).execute();
  return Number(numDeletedRows);
}

function toView(row: Selectable<Schema['login_sessions']>, caller: Caller): View {
  return {
    id: row.id,
    current: row.id === caller.sessionId,
    deviceId: row.device_id,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
  };
}
