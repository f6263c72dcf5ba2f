import { v7 as uuidv7 } from 'uuid';
import { lockActive } from '../../accounts/lock-active.ts';
import type { AuditTrail } from '../../audit-trail/audit-trail.ts';
import type { Clock } from '../../async/clock.ts';
import type { Database } from '../../db/database.ts';
import type { AccessTokens } from '../../tokens/access-token.ts';
import { accessTokenSeconds } from '../../tokens/token-rules.ts';

interface DevelopmentTokensOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly tokens: Pick<AccessTokens, 'issue'>;
  readonly clock: Clock;
}

/** Creates the service that issues access tokens without a login. Use it in development only. */
export function createDevelopmentTokens(options: DevelopmentTokensOptions) {
  const { db, audit, tokens, clock } = options;
  return {
    /**
     * Issues an access token with the rights of an active account, for a login session that ends
     * with the token. Throws user_not_found or SignerUnavailable.
     */
    async issue(email: string): Promise<string> {
      const account = await db.asService((tx) => lockActive(tx, email));
      const sessionId = uuidv7();
      const token = await tokens.issue({ ...account, sessionId });
      await db.asService(async (tx) => {
        const { userId, tenantId } = await lockActive(tx, email);
        const now = clock();
        await tx
          .insertInto('login_sessions')
          .values({
            id: sessionId,
            user_id: userId,
            tenant_id: tenantId,
            device_id: null,
            created_at: now,
            last_used_at: now,
            expires_at: new Date(now.getTime() + accessTokenSeconds * 1000),
          })
          .execute();
        await audit.append(tx, {
          action: 'auth.token_issued',
          actor: { type: 'system', id: 'cli' },
          owner: { userId, tenantId },
          resource: { type: 'session', id: sessionId },
          requestId: null,
          data: {},
        });
      });
      return token;
    },
  };
}
