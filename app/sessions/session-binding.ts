import { sql, type AliasableExpression } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
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
  const select = (tx: Tx, caller: Caller): AliasableExpression<string | null> =>
    isForeign(caller) ? selectForeign(tx, caller) : selectOwn(tx, caller);
  return {
    /** Returns whether the caller's session belongs to another issuer. */
    isForeign,

    /**
     * Returns an SQL expression, for use in another query, for the id of the device to which the
     * caller's session is bound; null if the session is unbound.
     */
    select,

    /**
     * Finds the id of the device to which the caller's session is bound. Resolves with undefined if
     * the session is unbound, or if the token names no session.
     */
    async find(tx: Tx, caller: Caller): Promise<string | undefined> {
      const query = tx.selectNoFrom(select(tx, caller).as('deviceId'));
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

const none = sql<null>`null`;

function selectOwn(tx: Tx, caller: Caller): AliasableExpression<string | null> {
  const { sessionId, userId, tenantId } = caller;
  if (sessionId === undefined) return none;
  return tx
    .selectFrom('login_sessions')
    .select('login_sessions.device_id')
    .where('id', '=', sessionId)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .$asScalar();
}

function selectForeign(tx: Tx, caller: Caller): AliasableExpression<string | null> {
  const { sessionId, userId, tenantId, issuer } = caller;
  if (sessionId === undefined) return none;
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
