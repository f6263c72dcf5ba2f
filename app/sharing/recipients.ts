import type { Database } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { LabelledKeys } from '../keys/labelled-keys.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import { decoyPublicKey, recipientIdOf } from './decoy-key.ts';

interface Recipient {
  /** What this sharer calls the address, in shares and entries. */
  readonly recipientId: string;
  /** base64; a decoy for an address that nobody of the tenant can be reached at. */
  readonly publicKey: string;
}

/** Whom documents may be shared with. Nothing tells whether there is anyone. */
export interface Recipients {
  /**
   * From now on the recipient's id means who has the address now, and a sharing key. The same work
   * for every address but the caller's own, which is refused: validation_failed. Throws
   * rate_limited or signer_unavailable.
   */
  find(caller: Caller, email: string): Promise<Recipient>;
}

interface RecipientsOptions {
  readonly db: Database;
  readonly keys: LabelledKeys;
  readonly limits: RateLimits;
}

export function createRecipients({ db, keys, limits }: RecipientsOptions): Recipients {
  /** Accounts and the keys of others are in the service's reach alone. */
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
    async find(caller, email) {
      const key = keys.get('decoy');
      await limits.consume('share-key-user', caller.userId);
      // Made for known addresses too: what only one of the two costs would tell them apart.
      const decoy = decoyPublicKey(key, caller.tenantId, email);
      const recipientId = recipientIdOf(key, caller.userId, email);
      const account = await findAccount(caller, email);
      if (account?.id === caller.userId) throw ownAddress();
      const known = account?.publicKey === null ? undefined : account;
      const recipient_user_id = known?.id ?? null;
      await db.asUser(caller, (tx) =>
        tx
          .insertInto('share_recipients')
          .values({
            user_id: caller.userId,
            recipient_ref: recipientId,
            tenant_id: caller.tenantId,
            recipient_user_id,
          })
          .onConflict((conflict) =>
            conflict
              .columns(['user_id', 'tenant_id', 'recipient_ref'])
              .doUpdateSet({ recipient_user_id }),
          )
          .execute(),
      );
      return { recipientId, publicKey: known?.publicKey ?? decoy };
    },
  };
}

function ownAddress(): AppError {
  const details = [{ path: 'recipientEmail', message: 'must not be your own' }];
  return new AppError('validation_failed', { details });
}
