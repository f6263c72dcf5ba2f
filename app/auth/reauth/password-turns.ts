import { createFairSlots } from '../../async/fair-slots.ts';

/** How many checks of passwords run and wait in one process. */
export const passwordChecks = { perKey: 1, inAll: 2, waitingPerKey: 2, waiting: 38 } as const;

export type PasswordTurns = ReturnType<typeof createPasswordTurns>;

/**
 * Creates the queue in which passwords are checked, each of which takes 64 MiB and a thread: two at
 * a time in this process, and one at a time of each user. `take` throws rate_limited at once if
 * three checks of this user run or wait, and reauth_busy if 40 of all users do.
 */
export function createPasswordTurns() {
  return createFairSlots({ ...passwordChecks, tooMany: 'rate_limited', noneFree: 'reauth_busy' });
}
