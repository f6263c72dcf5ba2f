import { z } from 'zod';
import { ClientError } from '../errors/client-error.ts';
import type { Http } from '../http/http.ts';
import { listPages } from '../http/pages.ts';
import type { SessionTokens } from './tokens.ts';

const LoginSession = z.object({
  id: z.uuid(),
  /** Whether it is the one that asks. */
  current: z.boolean(),
  deviceId: z.guid().nullable(),
  createdAt: z.iso.datetime(),
  lastUsedAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
});
/** A login of the user that has not ended. */
export type LoginSession = z.output<typeof LoginSession>;

export interface LoginSessions {
  /** Ends this session. Also succeeds if it has ended already. */
  logout(): Promise<void>;
  /** Newest first. */
  list(options?: { pageSize?: number }): AsyncGenerator<LoginSession, void, void>;
  /** Ends a session within 5 s, wherever it is used. VaultError 404 not_found. */
  revoke(id: string): Promise<void>;
}

export function createLoginSessions({
  http,
  tokens,
}: {
  http: Http;
  tokens: SessionTokens;
}): LoginSessions {
  return {
    async logout() {
      try {
        await http.send({ method: 'POST', path: '/v1/auth/logout', repeatable: true });
      } catch (error) {
        if (!(error instanceof ClientError) || error.code !== 'session_ended') throw error;
      }
      tokens.end();
    },

    list({ pageSize } = {}) {
      return listPages(http, LoginSession, '/v1/auth/sessions', pageSize);
    },

    async revoke(id) {
      const path = `/v1/auth/sessions/${encodeURIComponent(id)}`;
      await http.send({ method: 'DELETE', path });
    },
  };
}
