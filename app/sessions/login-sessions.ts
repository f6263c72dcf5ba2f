import { sql, type Selectable } from 'kysely';
import type { z } from 'zod';
import type { Accounts, ActiveAccount } from '../accounts/accounts.ts';
import type { Clock } from '../async/clock.ts';
import { compileOnce } from '../db/compile-once.ts';
import type { Database, Owner, Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import { inTurn } from '../db/pipeline.ts';
import type { Schema } from '../db/schema.ts';
import { AppError } from '../errors/app-error.ts';
import { cutPage } from '../http/responses/page.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import { recoveryTokenSeconds } from '../tokens/token-rules.ts';
import type { Act, Acted } from '../audit-trail/act.ts';
import { byOwner } from '../audit-trail/event.ts';
import { lockActive, touch } from './active-device.ts';
import { endSurplus } from './kept-sessions.ts';
import { refreshTokenExpiry, type RefreshTokens } from './refresh-tokens/refresh-token.ts';
import type { Revocations } from './revocations.ts';
import type { SessionView } from './schema.ts';

type View = z.input<typeof SessionView>;

interface NewSession {
  readonly id: string;
  /** The device to which the session is bound. */
  readonly deviceId?: string | undefined;
}

interface ListPage {
  readonly limit: number;
  /** The last session id on the previous page. */
  readonly cursor?: string | undefined;
}

interface SessionsPage {
  readonly sessions: View[];
  /** The last session id on this page; undefined if no further page exists. */
  readonly cursor: string | undefined;
}

interface LoginSessionsOptions {
  readonly accounts: Pick<Accounts, 'lockUnchanged'>;
  readonly db: Database;
  readonly act: Act;
  readonly refreshTokens: RefreshTokens;
  readonly revocations: Revocations;
  readonly clock: Clock;
}

export type LoginSessions = ReturnType<typeof createLoginSessions>;

/** Creates the service that opens, lists and ends login sessions, the `sid` of access tokens. */
export function createLoginSessions(options: LoginSessionsOptions) {
  const { db, act, revocations, clock } = options;
  return {
    /**
     * Opens a login session, even while the audit backlog is full. If the user then has over 100
     * open, ends the one that was used longest ago. Resolves with the session's first refresh
     * token, or undefined for a recovery login. Throws invalid_proof if the account was closed, or
     * its credentials, rights or tenant changed after the proof, and device_unknown or
     * device_blacklisted.
     */
    open: (
      request: ServiceRequest<undefined>,
      account: ActiveAccount,
      session: NewSession,
    ): Promise<string | undefined> =>
      // Only the service login can open sessions.
      act.asService(request, (tx) => openSession(tx, account, session, options), {
        evenWithFullBacklog: true,
      }),

    /** Lists the caller's login sessions that have not ended, newest first. */
    list: ({ caller }: ServiceRequest, { limit, cursor }: ListPage): Promise<SessionsPage> =>
      db.asUser(caller, async (tx) => {
        let query = tx
          .selectFrom('login_sessions')
          .select(['id', 'device_id', 'created_at', 'last_used_at', 'expires_at'])
          .where('user_id', '=', caller.userId)
          .where('tenant_id', '=', caller.tenantId)
          .where('revoked_at', 'is', null)
          .where('expires_at', '>', clock())
          .orderBy('id', 'desc')
          .limit(limit + 1);
        if (cursor !== undefined) query = query.where('id', '<', cursor);
        const page = cutPage(await query.execute(), { limit, cursorOf: ({ id }) => id });
        return { sessions: page.rows.map((row) => toView(row, caller)), cursor: page.cursor };
      }),

    /**
     * Ends a login session of the caller, even while the audit backlog is full. Idempotent. Throws
     * not_found.
     */
    end: (request: ServiceRequest, sessionId: string): Promise<void> =>
      act(request, (tx) => endSession(tx, revocations, request.caller, sessionId), {
        evenWithFullBacklog: true,
      }),
  };
}

async function openSession(
  tx: Tx,
  account: ActiveAccount,
  { id, deviceId }: NewSession,
  { accounts, refreshTokens, revocations, clock }: LoginSessionsOptions,
): Promise<Acted<string | undefined>> {
  if (!(await accounts.lockUnchanged(tx, account))) throw new AppError('invalid_proof');
  const now = clock();
  if (deviceId !== undefined) {
    await touch(tx, account, await lockActive(tx, account, deviceId), now);
  }
  const isRecovery = account.method === 'recovery';
  const issued = isRecovery ? undefined : refreshTokens.issue(id, 1);
  const inserted = insertSession(tx, {
    id,
    user_id: account.userId,
    tenant_id: account.tenantId,
    device_id: deviceId ?? null,
    created_at: now,
    expires_at: isRecovery ? recoveryTokenExpiry(now) : refreshTokenExpiry(now),
    refresh_generation: issued === undefined ? 0 : 1,
    refresh_hash: issued?.hash ?? null,
  });
  const event = {
    action: 'auth.login',
    ...byOwner(account),
    resource: { type: 'session', id },
    data: {
      method: isRecovery ? 'recovery' : 'srp',
      ...(deviceId === undefined ? {} : { deviceId }),
    },
  } as const;
  const [, ended] = await inTurn(inserted, endSurplus(tx, revocations, account, id));
  return { answer: issued?.refreshToken, events: [event, ...ended] };
}

type NewRow = Omit<
  Selectable<Schema['login_sessions']>,
  'last_used_at' | 'revoked_at' | 'previous_hash' | 'previous_used_at'
>;

const insertSession = compileOnce((row: NewRow, db) =>
  db
    .insertInto('login_sessions')
    .values({
      id: row.id,
      user_id: row.user_id,
      tenant_id: row.tenant_id,
      device_id: row.device_id,
      created_at: row.created_at,
      last_used_at: row.created_at,
      expires_at: row.expires_at,
      refresh_generation: row.refresh_generation,
      refresh_hash: row.refresh_hash,
    })
    .compile(),
);

/** Locks the owner's login session for the rest of `tx`. Resolves with undefined if none exists. */
async function lockSession(tx: Tx, { userId, tenantId }: Owner, sessionId: string) {
  takesLock(tx, 'login session');
  return tx
    .selectFrom('login_sessions')
    .select('revoked_at')
    .where('id', '=', sessionId)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .forUpdate()
    .executeTakeFirst();
}

async function endSession(
  tx: Tx,
  revocations: Revocations,
  caller: Caller,
  sessionId: string,
): Promise<Acted<void>> {
  const session = await lockSession(tx, caller, sessionId);
  if (session === undefined) throw new AppError('not_found');
  if (session.revoked_at !== null) return { answer: undefined, events: [] };
  await revocations.revoke(tx, caller, sessionId);
  const event = {
    action: 'auth.session_revoked',
    resource: { type: 'session', id: sessionId },
    data: { bySession: caller.sessionId ?? null },
  } as const;
  return { answer: undefined, events: [event] };
}

function recoveryTokenExpiry(now: Date): Date {
  return new Date(now.getTime() + recoveryTokenSeconds * 1000);
}

/**
 * Ends the open login sessions of a user, except the session `keep`. Every process refuses their
 * tokens within 5 s. Resolves with the number of ended sessions.
 */
export async function endSessions(tx: Tx, userId: string, keep?: string): Promise<number> {
  await lockOpenSessions(tx, userId);
  const query = endOpenSessions(tx, userId);
  const { numUpdatedRows } = await (
    keep === undefined ? query : query.where('id', '<>', keep)
  ).executeTakeFirst();
  return Number(numUpdatedRows);
}

/** Ends the open login sessions of a user that are bound to a device, as `endSessions` does. */
export async function endSessionsOfDevice(
  tx: Tx,
  userId: string,
  deviceId: string,
): Promise<number> {
  await lockOpenSessions(tx, userId);
  const query = endOpenSessions(tx, userId).where('device_id', '=', deviceId);
  return Number((await query.executeTakeFirst()).numUpdatedRows);
}

/**
 * Ends the open sessions of a user's recovery logins, as `endSessions` does. Recovery logins are
 * recognised by sessions that never got a refresh token.
 */
export async function endRecoverySessions(tx: Tx, userId: string): Promise<number> {
  await lockOpenSessions(tx, userId);
  const query = endOpenSessions(tx, userId).where('refresh_hash', 'is', null);
  return Number((await query.executeTakeFirst()).numUpdatedRows);
}

/**
 * Locks the user's open sessions in id order, so that concurrent calls cannot deadlock. Call it
 * before taking any other session lock.
 */
async function lockOpenSessions(tx: Tx, userId: string): Promise<void> {
  takesLock(tx, 'login session');
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

/**
 * Locks the owner's login session. Throws invalid_token if the session was revoked after the
 * request began.
 */
export async function assertNotEnded(tx: Tx, owner: Owner, sessionId: string): Promise<void> {
  const session = await lockSession(tx, owner, sessionId);
  if (session !== undefined && session.revoked_at !== null) throw new AppError('invalid_token');
}

/** Returns whether a user is logged in, or had a session revoked in the last `seconds` seconds. */
export async function wasLoggedIn(tx: Tx, userId: string, seconds: number): Promise<boolean> {
  const session = await tx
    .selectFrom('login_sessions')
    .select('id')
    .where('user_id', '=', userId)
    .where((eb) =>
      eb.or([
        eb.and([eb('revoked_at', 'is', null), eb('expires_at', '>', sql<Date>`now()`)]),
        eb('revoked_at', '>', sql<Date>`now() - make_interval(secs => ${seconds})`),
      ]),
    )
    .executeTakeFirst();
  return session !== undefined;
}

type Viewed = 'id' | 'device_id' | 'created_at' | 'last_used_at' | 'expires_at';

function toView(row: Pick<Selectable<Schema['login_sessions']>, Viewed>, caller: Caller): View {
  return {
    id: row.id,
    current: row.id === caller.sessionId,
    deviceId: row.device_id,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
  };
}
