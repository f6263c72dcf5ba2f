import { sql, type Selectable } from 'kysely';
import type { z } from 'zod';
import { holdUnchanged, type ActiveAccount } from '../accounts/accounts.ts';
import { byOwner } from '../trail/event.ts';
import type { AuditTrail } from '../trail/trail.ts';
import type { Clock } from '../async/clock.ts';
import type { Database, Tx } from '../db/database.ts';
import type { Schema } from '../db/schema.ts';
import { holdActive, touch } from './active-device.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import { issueRefreshToken, refreshTokenExpiry } from './refresh-tokens.ts';
import type { Revocations } from './revocations.ts';
import type { SessionView } from './schema.ts';
import { recoveryTokenSeconds } from '../tokens/token-lifetime.ts';

type View = z.input<typeof SessionView>;

/** Logins that have not ended: what the `sid` of an access token names. */
export interface LoginSessions {
  /**
   * Answers the first refresh token of a new session; undefined after a login by the recovery words.
   * Throws invalid_proof where the account was closed, or got other credentials, rights or another
   * tenant, since the proof, and device_unknown or device_blacklisted.
   */
  open(account: ActiveAccount, session: NewSession, requestId: string): Promise<string | undefined>;
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

interface NewSession {
  readonly id: string;
  /** What it is bound to from the beginning. */
  readonly deviceId?: string | undefined;
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
    open: (account, { id, deviceId }, requestId) =>
      db.asService(async (tx) => {
        if (!(await holdUnchanged(tx, account))) throw new AppError('invalid_proof');
        const now = clock();
        if (deviceId !== undefined) {
          await touch(tx, account, await holdActive(tx, account, deviceId), now);
        }
        const isRecovery = account.method === 'recovery';
        await tx
          .insertInto('login_sessions')
          .values({
            id,
            user_id: account.userId,
            tenant_id: account.tenantId,
            device_id: deviceId ?? null,
            created_at: now,
            last_used_at: now,
            expires_at: isRecovery ? recoveryTokenExpiry(now) : refreshTokenExpiry(now),
          })
          .execute();
        const refreshToken = isRecovery ? undefined : await issueRefreshToken(tx, id, now);
        await audit.append(tx, {
          action: 'auth.login',
          ...byOwner(account, requestId),
          resource: { type: 'session', id },
          data: {
            method: isRecovery ? 'recovery' : 'srp',
            ...(deviceId === undefined ? {} : { deviceId }),
          },
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

function recoveryTokenExpiry(now: Date): Date {
  return new Date(now.getTime() + recoveryTokenSeconds * 1000);
}

/**
 * Ends every session of a user, but for the one to keep, in each process within 5 s. Answers how many
 * were open.
 */
export async function endSessions(tx: Tx, userId: string, keep?: string): Promise<number> {
  await lockOpenSessions(tx, userId);
  const query = endOpenSessions(tx, userId);
  const { numUpdatedRows } = await (
    keep === undefined ? query : query.where('id', '<>', keep)
  ).executeTakeFirst();
  return Number(numUpdatedRows);
}

/** The same for those that are bound to a device. */
export async function endSessionsOfDevice(
  tx: Tx,
  userId: string,
  deviceId: string,
): Promise<number> {
  await lockOpenSessions(tx, userId);
  const query = endOpenSessions(tx, userId).where('device_id', '=', deviceId);
  return Number((await query.executeTakeFirst()).numUpdatedRows);
}

/** The same for those by the recovery words: they alone were never given a refresh token. */
export async function endRecoverySessions(tx: Tx, userId: string): Promise<number> {
  await lockOpenSessions(tx, userId);
  const query = endOpenSessions(tx, userId).where(({ not, exists, selectFrom }) =>
    not(
      exists(
        selectFrom('refresh_tokens')
          .select('token_hash')
          .whereRef('session_id', '=', 'login_sessions.id'),
      ),
    ),
  );
  return Number((await query.executeTakeFirst()).numUpdatedRows);
}

/** All, in one order, since several may end some of them at once. For who has not locked one yet. */
async function lockOpenSessions(tx: Tx, userId: string): Promise<void> {
  await tx
    .selectFrom('login_sessions')
    .select('id')
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .orderBy('id')
    .forUpdate()
    .execute();
}

function endOpenSessions(tx: Tx, userId: string) {
  return tx
    .updateTable('login_sessions')
    .set({ revoked_at: sql`now()` })
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`);
}

/** How long sessions that ended are kept, so that the reuse of their refresh tokens is noticed. */
const keptMs = 30 * 86_400_000;

/**
 * Removes the sessions that ended long ago, and the refresh tokens of living ones that did: from then
 * on the reuse of such a token is no longer noticed, only refused. Answers the number of sessions.
 */
export async function removeExpired(tx: Tx, now: Date): Promise<number> {
  const before = new Date(now.getTime() - keptMs);
  const { numDeletedRows } = await tx
    .deleteFrom('login_sessions')
    .where('expires_at', '<', before)
    .executeTakeFirst();
  await tx.deleteFrom('refresh_tokens').where('expires_at', '<', before).execute();
  return Number(numDeletedRows);
}

/** How many `removeExpired` would remove. */
export async function countExpired(tx: Tx, now: Date): Promise<number> {
  const { count } = await tx
    .selectFrom('login_sessions')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('expires_at', '<', new Date(now.getTime() - keptMs))
    .executeTakeFirstOrThrow();
  return count;
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
