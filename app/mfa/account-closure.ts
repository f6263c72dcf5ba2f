import type { Database, Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { IdentityProvider } from '../identity-provider/identity-provider.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { UserLeases } from './user-leases.ts';
import { findMfaUser, removeMfaUser, takeExistingLease } from './rows/user-rows.ts';

interface MfaRemovalOptions {
  readonly db: Database;
  readonly provider: IdentityProvider | undefined;
  readonly leases: UserLeases;
}

/** Promises that a closed account's user at the identity provider is removed, if it has one. */
export async function forgetLater(tx: Tx, outbox: Outbox, userId: string): Promise<void> {
  const user = await findMfaUser(tx, userId);
  if (user !== undefined) await outbox.add(tx, 'mfa.forget', { userId });
}

/**
 * Creates the handler that removes what the identity provider and the vault keep of a closed
 * account. No request can take the lease of a closed account any more, and the handler waits for
 * one that took it before. Throws while the provider is unavailable, also if none is set up.
 */
export function createMfaRemoval({ db, provider, leases }: MfaRemovalOptions) {
  return async function forgetUser({ userId }: { readonly userId: string }): Promise<void> {
    if (provider === undefined) throw new AppError('identity_provider_unavailable');
    await leases.hold(
      userId,
      (tx) => takeExistingLease(tx, userId),
      async ({ user, deadline, confirm }) => {
        // A user whose creation was not recorded is found by its name.
        const subject = user.subject ?? (await provider.findSubject(userId, deadline));
        if (user.isProvisioned && subject !== undefined) {
          await provider.removeUser(subject, deadline);
        }
        await db.asService(async (tx) => {
          await confirm(tx);
          await removeMfaUser(tx, userId);
        });
      },
    );
  };
}
