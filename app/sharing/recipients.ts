import type { Database, Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { LabelledKeys } from '../signing-keys/labelled-keys.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { Plans } from '../plans/plans.ts';
import { decoyIdentity, recipientIdOf } from '../identities/decoy-identity.ts';
import { fingerprintOf, type PublicIdentity } from '../identities/public-identity.ts';

interface Recipient {
  /** The id that stands for the e-mail address in this sharer's shares and audit entries. */
  readonly recipientId: string;
  /** A decoy if no user of the tenant has this e-mail address and an identity. */
  readonly identity: PublicIdentity;
  readonly fingerprint: string;
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
        .select([
          'accounts.id',
          'sharing_keys.public_key as publicKey',
          'sharing_keys.signing_key as signingKey',
        ])
        .where('accounts.email', '=', email)
        .where('accounts.tenant_id', '=', tenantId)
        .where('accounts.status', '=', 'ACTIVE')
        .executeTakeFirst(),
    );

  return {
    /**
     * Returns the recipient id and the identity for an e-mail address, and records that the id
     * stands for the account that has the e-mail address now, and what was shown. Does the same
     * work for every e-mail address. Throws validation_failed for the caller's own e-mail address,
     * rate_limited, quota_exceeded or signer_unavailable.
     */
    async find({ caller }: ServiceRequest, email: string): Promise<Recipient> {
      const key = keys.get('decoy');
      await limits.consume('share-key-user', caller.userId);
      // Compute the decoy for every e-mail address: otherwise the timing would reveal which e-mail
      // addresses are registered.
      const decoy = decoyIdentity(key, caller.tenantId, email);
      const recipientId = recipientIdOf(key, caller.userId, email);
      const account = await findAccount(caller, email);
      if (account?.id === caller.userId) throw ownEmail();
      const known = withIdentity(account);
      const identity = known?.identity ?? decoy;
      const fingerprint = fingerprintOf(identity);
      const shown = { recipientId, recipientUserId: known?.id ?? null, fingerprint };
      await db.asUser(caller, (tx) => storeRecipient(tx, caller, shown), {
        limits: plans(caller.plan).limits,
      });
      return { recipientId, identity, fingerprint };
    },
  };
}

interface FoundAccount {
  readonly id: string;
  readonly publicKey: string | null;
  readonly signingKey: string | null;
}

/** Returns an account with its identity; undefined if there is no account or it has none. */
function withIdentity(account: FoundAccount | undefined) {
  if (account === undefined) return undefined;
  const { id, publicKey, signingKey } = account;
  if (publicKey === null || signingKey === null) return undefined;
  return { id, identity: { publicKey, signingKey } };
}

interface Shown {
  readonly recipientId: string;
  /** Null if the id stands for no account. */
  readonly recipientUserId: string | null;
  readonly fingerprint: string;
}

/** Stores the account for which a recipient id stands, and the fingerprint that was shown. */
async function storeRecipient(
  tx: Tx,
  { userId, tenantId }: Caller,
  { recipientId, recipientUserId, fingerprint }: Shown,
): Promise<void> {
  await tx
    .insertInto('share_recipients')
    .values({
      user_id: userId,
      recipient_ref: recipientId,
      tenant_id: tenantId,
      recipient_user_id: recipientUserId,
      fingerprint,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'tenant_id', 'recipient_ref'])
        .doUpdateSet({ recipient_user_id: recipientUserId, fingerprint }),
    )
    .execute();
}

function ownEmail(): AppError {
  const details = [{ path: 'recipientEmail', message: 'must not be your own e-mail address' }];
  return new AppError('validation_failed', { details });
}
