import type { Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import { reauthTokenSeconds } from '../tokens/token-rules.ts';

/**
 * Throws reauth_required unless the caller's login session began within the time for which a
 * reauthentication is fresh: a login within this time proves as much as a reauthentication. A
 * refresh of tokens does not count as a login. The caller must have a token of the vault itself.
 */
export async function assertFreshLogin(
  tx: Tx,
  { userId, sessionId }: Caller,
  now: Date,
): Promise<void> {
  const session =
    sessionId === undefined
      ? undefined
      : await tx
          .selectFrom('login_sessions')
          .select('created_at')
          .where('id', '=', sessionId)
          .where('user_id', '=', userId)
          .executeTakeFirst();
  const ageMs = session === undefined ? Infinity : now.getTime() - session.created_at.getTime();
  if (ageMs >= reauthTokenSeconds * 1000) throw new AppError('reauth_required');
}
