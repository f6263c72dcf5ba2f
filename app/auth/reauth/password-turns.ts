import { createFairTurns, QueueFull } from '../../async/fair-turns.ts';
import { AppError } from '../../errors/app-error.ts';

/** Each check of a password takes 64 MiB and a thread. */
const limits = { atOnce: 2, placesPerKey: 3, places: 40 };

export type PasswordTurns = ReturnType<typeof createPasswordTurns>;

/**
 * Creates the queue in which passwords are checked: two at a time in this process, and one at a
 * time of each user.
 */
export function createPasswordTurns() {
  const turns = createFairTurns(limits);
  return {
    /**
     * Runs the check of a user's password when the user's turn comes. Throws rate_limited at once
     * if three checks of this user run or wait, and reauth_busy if 40 of all users do.
     */
    async take<T>(userId: string, check: () => Promise<T>): Promise<T> {
      try {
        return await turns.take(userId, check);
      } catch (error) {
        throw error instanceof QueueFull ? toRefusal(error) : error;
      }
    },
  };
}

function toRefusal({ scope }: QueueFull): AppError {
  const code = scope === 'key' ? 'rate_limited' : 'reauth_busy';
  return new AppError(code, { retryAfterSeconds: scope === 'key' ? 1 : 5 });
}
