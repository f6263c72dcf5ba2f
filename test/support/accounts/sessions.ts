import { createHash } from 'node:crypto';
import { decodeJwt } from 'jose';
import { getJson, postJson, send, type JsonAnswer } from '../http/send.ts';
import { createSql } from '../vault/sql.ts';
import type { Vault } from '../vault/vault.ts';

interface Reachable {
  readonly baseUrl: string;
}

/** The tokens that a login or a refresh returns. */
export interface TokenPair {
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** Returns the hash under which the vault stores a refresh token. */
export function hashOf(refreshToken: string): string {
  return createHash('sha256').update(refreshToken).digest('hex');
}

export function refresh({ baseUrl }: Reachable, refreshToken: string): Promise<JsonAnswer> {
  return postJson(`${baseUrl}/v1/auth/refresh`, { refreshToken });
}

/**
 * Replays a refresh token whose successor was used, as a thief or the owner does after a theft,
 * which ends the session. Returns the response to the replay.
 */
export async function replay(vault: Reachable, refreshToken: string): Promise<JsonAnswer> {
  const { body } = await refresh(vault, refreshToken);
  await refresh(vault, (body as { readonly refreshToken: string }).refreshToken);
  return refresh(vault, refreshToken);
}

export function logOut({ baseUrl }: Reachable, token: string): Promise<JsonAnswer> {
  return send('POST', `${baseUrl}/v1/auth/logout`, { token });
}

export function revoke({ baseUrl }: Reachable, id: string, token: string): Promise<JsonAnswer> {
  return send('DELETE', `${baseUrl}/v1/auth/sessions/${id}`, { token });
}

/** Returns the response to a request for which only the access token matters. */
export function tryToken({ baseUrl }: Reachable, token: string): Promise<JsonAnswer> {
  return getJson(`${baseUrl}/v1/uploads/config`, token);
}

export function sessionIdOf(accessToken: string): string {
  return String(decodeJwt(accessToken)['sid']);
}

/** Returns the audit entries of a login session, oldest first. */
export async function entriesOf(vault: Vault, sessionId: string) {
  const rows = await createSql(vault)(
    `select canonical from audit_entries
     where resource_type = 'session' and resource_id = $1 order by seq`,
    [sessionId],
  );
  return rows.map(
    ({ canonical }) =>
      JSON.parse(String(canonical)) as {
        action: string;
        actor: { readonly type: string; readonly id: string | null };
        outcome: string;
        data: Record<string, unknown>;
      },
  );
}
