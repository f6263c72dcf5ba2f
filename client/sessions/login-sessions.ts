import { z } from 'zod';
import { ClientError } from '../errors/client-error.ts';
import type { Http } from '../http/http.ts';
import { listPages } from '../http/pages.ts';
import type { SessionTokens } from './tokens.ts';

const LoginSession = z.object({
  id: z.uuid(),
  /** Whether this is the login session whose token was sent with the request. */
  current: z.boolean(),
  deviceId: z.guid().nullable(),
  createdAt: z.iso.datetime(),
  lastUsedAt: z.iso.datetime(),
  expiresAt: z.iso.datetime(),
});
/** A login session of the user that has not ended. */
export type LoginSession = z.output<typeof LoginSession>;

/** Creates the calls about login sessions; `VaultSession` describes them. */
export function createLoginSessions({
  http,
  tokens,
}: {
  readonly http: Http;
  readonly tokens: SessionTokens;
}) {
  return {
    async logout(): Promise<void> {
      try {
        await http.send({ method: 'POST', path: '/v1/auth/logout', repeatable: true });
      } catch (error) {
        if (!(error instanceof ClientError) || error.code !== 'session_ended') throw error;
      }
      tokens.end();
    },

    list({ pageSize }: { readonly pageSize?: number } = {}): AsyncGenerator<
      LoginSession,
      void,
      void
    > {
      return listPages(http, LoginSession, '/v1/auth/sessions', pageSize);
    },

    async revoke(id: string): Promise<void> {
      const path = `/v1/auth/sessions/${encodeURIComponent(id)}`;
      await http.send({ method: 'DELETE', path });
    },
  };
}
