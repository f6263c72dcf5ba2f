import type { Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import { reauthTokenSeconds } from '../tokens/token-lifetime.ts';

/**
 * Lets through whose session began with a login as recent as a reauthentication has to be: it proves
 * as much. Refreshing does not count. Of our own callers; throws reauth_required.
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
