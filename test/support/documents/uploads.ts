import { randomUUID } from 'node:crypto';
import { until } from '../../../app/dev/processes/until.ts';
import type { TokenSubject } from '../../../app/tokens/access-token.ts';
import type { Vault } from '../vault/vault.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The response's JSON; empty if it has no body. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface SendOptions {
  readonly json?: unknown;
  readonly bytes?: Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A caller with an access token, whose requests are sent once and unchanged. */
export interface Api {
  readonly caller: TokenSubject;
  readonly token: string;
  send(method: string, path: string, options?: SendOptions): Promise<Answer>;
}

const scopes = ['documents:read', 'documents:write', 'uploads:write', 'keys:manage', 'audit:read'];

/**
 * Issues an access token of the vault for any user, tenant and roles, without the cost of a login.
 */
export async function createApi(vault: Vault, as: Partial<TokenSubject> = {}): Promise<Api> {
  const caller: TokenSubject = {
    userId: randomUUID(),
    tenantId: 'default',
    plan: 'standard',
    roles: ['user'],
    scopes,
    sessionId: randomUUID(),
    ...as,
  };
  const token = await vault.tokens.access(caller);
  const api: Api = {
    caller,
    token,
    async send(method, path, { json, bytes, headers } = {}) {
      const body = bytes ?? (json === undefined ? undefined : JSON.stringify(json));
      const response = await fetch(vault.baseUrl + path, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(json === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body }),
      });
      const text = await response.text();
      const { status } = response;
      const answer = text === '' ? {} : (JSON.parse(text) as Answer['body']);
      return { status, headers: response.headers, body: answer };
    },
  };
  await until(async () => (await api.send('GET', '/v1/uploads/config')).status === 200, {
    what: 'the key of access tokens in the registry',
    timeoutMs: 60_000,
  });
  return api;
}
