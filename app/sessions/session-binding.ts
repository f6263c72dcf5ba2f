import { sql, type AliasableExpression } from 'kysely';
import { NIL, v7 as uuidv7 } from 'uuid';
import type { Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';

export type SessionBinding = ReturnType<typeof createSessionBinding>;

/**
 * Creates the service that binds sessions to devices: login sessions of the vault, and sessions of
 * other issuers by their `sid`.
 * @param issuer the vault's own name as an issuer.
 */
export function createSessionBinding({ issuer }: { readonly issuer: string }) {
  const isForeign = (caller: Caller): boolean => caller.issuer !== issuer;
  function kindOf(caller: Caller): SessionKind {
    if (caller.sessionId === undefined) return 'none';
    return isForeign(caller) ? 'foreign' : 'own';
  }
  return {
    /** Returns whether the caller's session belongs to another issuer. */
    isForeign,

    /** Returns what kind of session the caller has. */
    kindOf,

    /**
     * Finds the id of the device to which the caller's session is bound. Resolves with undefined if
     * the session is unbound, or if the token names no session.
     */
    async find(tx: Tx, caller: Caller): Promise<string | undefined> {
      const query = tx.selectNoFrom(selectBound[kindOf(caller)](tx, caller).as('deviceId'));
      const { deviceId } = await query.executeTakeFirstOrThrow();
      return deviceId ?? undefined;
    },

    /**
     * Binds the caller's session to a device, unless the session is already bound or the token
     * names no session. Throws invalid_token if a session of the vault was revoked after the
     * request was authenticated.
     */
    bind: (tx: Tx, caller: Caller, deviceId: string): Promise<void> =>
      isForeign(caller) ? bindForeign(tx, caller, deviceId) : bindOwn(tx, caller, deviceId),
  };
}

/** A session of the vault, one of another issuer, or none: the token of an identity provider. */
export type SessionKind = 'own' | 'foreign' | 'none';

/** The members of a caller that name the session. */
export type CallersSession = Pick<Caller, 'sessionId' | 'userId' | 'tenantId' | 'issuer'>;

/**
 * Returns an SQL expression, for use in another query, for the id of the device to which a session
 * of a kind is bound; null if the session is unbound.
 */
export const selectBound: Readonly<
  Record<SessionKind, (tx: Tx, session: CallersSession) => AliasableExpression<string | null>>
> = { own: selectOwn, foreign: selectForeign, none: () => sql<null>`null` };

function selectOwn(tx: Tx, { sessionId = NIL, userId, tenantId }: CallersSession) {
  return tx
    .selectFrom('login_sessions')
    .select('login_sessions.device_id')
    .where('id', '=', sessionId)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .$asScalar();
}

function selectForeign(tx: Tx, { sessionId = NIL, userId, tenantId, issuer }: CallersSession) {
  return tx
    .selectFrom('session_devices')
    .select('session_devices.device_id')
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('issuer', '=', issuer)
    .where('sid', '=', sessionId)
    .$asScalar();
}

async function bindOwn(tx: Tx, caller: Caller, deviceId: string): Promise<void> {
  const { sessionId, userId, tenantId } = caller;
  if (sessionId === undefined) return;
  takesLock(tx, 'login session');
  const session = await tx
    .selectFrom('login_sessions')
    .select(['device_id', 'revoked_at'])
    .where('id', '=', sessionId)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .forUpdate()
    .executeTakeFirst();
  if (session === undefined) return;
  if (session.revoked_at !== null) throw new AppError('invalid_token');
  if (session.device_id !== null) return;
  await tx
    .updateTable('login_sessions')
    .set({ device_id: deviceId })
    .where('id', '=', sessionId)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .execute();
}

async function bindForeign(tx: Tx, caller: Caller, deviceId: string): Promise<void> {
  const { sessionId, userId, tenantId, issuer } = caller;
  if (sessionId === undefined) return;
  await tx
    .insertInto('session_devices')
    .values({
      id: uuidv7(),
      user_id: userId,
      tenant_id: tenantId,
      issuer,
      sid: sessionId,
      device_id: deviceId,
    })
    .onConflict((conflict) =>
      conflict.columns(['user_id', 'tenant_id', 'issuer', 'sid']).doNothing(),
    )
    .execute();
}
