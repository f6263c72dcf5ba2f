import type { Database, Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { LabelledKeys } from '../signing-keys/labelled-keys.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { Plans } from '../plans/plans.ts';
import { decoyPublicKey, recipientIdOf } from './decoy-key.ts';

interface Recipient {
  /** The id that stands for the e-mail address in this sharer's shares and audit entries. */
  readonly recipientId: string;
  /**
   * The public key in base64; a decoy if no user of the tenant has this e-mail address and a
   * sharing key.
   */
  readonly publicKey: string;
}

interface RecipientsOptions {
  readonly db: Database;
  readonly keys: LabelledKeys;
  readonly limits: RateLimits;
  readonly plans: Plans;
}

export type Recipients = ReturnType<typeof createRecipients>;

/**
 * Creates the service that finds the recipients of shares. Its results do not reveal whether an
 * e-mail address has an account.
 */
export function createRecipients({ db, keys, limits, plans }: RecipientsOptions) {
  /**
   * Finds the active account with an e-mail address in the caller's tenant. Uses the service login,
   * since users cannot see other users' rows.
   */
  const findAccount = ({ tenantId }: Caller, email: string) =>
    db.asService((tx) =>
      tx
        .selectFrom('accounts')
        .leftJoin('sharing_keys', (join) =>
          join
            .onRef('sharing_keys.user_id', '=', 'accounts.id')
            .onRef('sharing_keys.tenant_id', '=', 'accounts.tenant_id'),
        )
        .select(['accounts.id', 'sharing_keys.public_key as publicKey'])
        .where('accounts.email', '=', email)
        .where('accounts.tenant_id', '=', tenantId)
        .where('accounts.status', '=', 'ACTIVE')
        .executeTakeFirst(),
    );

  return {
    /**
     * Returns the recipient id and public key for an e-mail address, and records that the id stands
     * for the account that has the e-mail address now. Does the same work for every e-mail address.
     * Throws validation_failed for the caller's own e-mail address, rate_limited, quota_exceeded or
     * signer_unavailable.
     */
    async find({ caller }: ServiceRequest, email: string): Promise<Recipient> {
      const key = keys.get('decoy');
      await limits.consume('share-key-user', caller.userId);
      // Compute the decoy for every e-mail address: otherwise the timing would reveal which e-mail
      // addresses are registered.
      const decoy = decoyPublicKey(key, caller.tenantId, email);
      const recipientId = recipientIdOf(key, caller.userId, email);
      const account = await findAccount(caller, email);
      if (account?.id === caller.userId) throw ownEmail();
      const known = account?.publicKey === null ? undefined : account;
      const recipientUserId = known?.id ?? null;
      await db.asUser(
        caller,
        (tx) => storeRecipient(tx, caller, recipientId, recipientUserId),
        plans(caller.plan).limits,
      );
      return { recipientId, publicKey: known?.publicKey ?? decoy };
    },
  };
}

/** Stores which account a recipient id stands for; null if it stands for no account. */
async function storeRecipient(
  tx: Tx,
  { userId, tenantId }: Caller,
  recipientId: string,
  recipientUserId: string | null,
): Promise<void> {
  await tx
    .insertInto('share_recipients')
    .values({
      user_id: userId,
      recipient_ref: recipientId,
      tenant_id: tenantId,
      recipient_user_id: recipientUserId,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'tenant_id', 'recipient_ref'])
        .doUpdateSet({ recipient_user_id: recipientUserId }),
    )
    .execute();
}

function ownEmail(): AppError {
  const details = [{ path: 'recipientEmail', message: 'must not be your own e-mail address' }];
  return new AppError('validation_failed', { details });
}
