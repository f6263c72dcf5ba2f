import type { AuditEvent } from '../audit-trail/event.ts';
import type { Clock } from '../async/clock.ts';
import type { Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import type { RowCipher } from '../encryption/row-cipher.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { admitMail } from './mail-limits.ts';
import { registrationRow } from './registration-encryption.ts';
import { createValidationMails } from './validation-mails.ts';

interface TokenRenewalOptions {
  readonly cipher: RowCipher;
  readonly outbox: Outbox;
  readonly limits: RateLimits;
  readonly clock: Clock;
}

interface Renewal {
  readonly email: string;
  /** The tenant in which the account must be; null for any. */
  readonly tenantId: string | null;
  /** Whether the e-mail may be sent, as `admit` resolved. */
  readonly isMailed: boolean;
  /** Id of the user who asked for the renewal. */
  readonly by: string;
  readonly requestId: string;
}

export type TokenRenewal = ReturnType<typeof createTokenRenewal>;

/** Creates the service that gives a registration another token. */
export function createTokenRenewal(options: TokenRenewalOptions) {
  const { cipher, limits } = options;
  const validation = createValidationMails(options);
  return {
    /**
     * Counts a renewal as a registration of the e-mail address. Resolves with whether its e-mail
     * may be sent. Throws rate_limited.
     */
    admit: (clientAddress: string, email: string): Promise<boolean> =>
      admitMail(limits, clientAddress, email),

    /**
     * Gives the newest registration of an e-mail address a new token, which voids the former, and
     * adds the e-mail with it to the outbox. Does nothing if no account with the address waits for
     * its validation. Resolves with the events to record. Throws signer_unavailable.
     */
    async renew(tx: Tx, renewal: Renewal): Promise<readonly AuditEvent[]> {
      const { email, by, requestId } = renewal;
      const newest = await lockNewest(tx, renewal);
      if (newest === undefined || !renewal.isMailed) return [];
      const { id, userId, tenantId, key_generation: generation, salt, verifier } = newest;
      const stored = { generation, values: { salt, verifier } };
      const credential = cipher.decrypt(registrationRow(id, userId), stored);
      const token = await validation.promise(tx, { userId, email, ...credential });
      await tx.updateTable('registrations').set(token).where('id', '=', id).execute();
      return [
        {
          action: 'account.token_renewed',
          actor: { type: 'user', id: by },
          owner: { userId, tenantId },
          resource: { type: 'account', id: userId },
          requestId,
          data: {},
        },
      ];
    },
  };
}

/** Locks the account that waits for its validation, and finds its newest registration. */
function lockNewest(tx: Tx, { email, tenantId }: Renewal) {
  takesLock(tx, 'account');
  const found = tx
    .selectFrom('accounts')
    .innerJoin('registrations', 'registrations.account_id', 'accounts.id')
    .select(['accounts.id as userId', 'accounts.tenant_id as tenantId'])
    .select(['registrations.id', 'key_generation', 'salt', 'verifier'])
    .where('email', '=', email)
    .where('status', '=', 'PENDING_VALIDATION')
    .orderBy('registrations.id', 'desc')
    .limit(1)
    .forUpdate('accounts');
  const reached = tenantId === null ? found : found.where('tenant_id', '=', tenantId);
  return reached.executeTakeFirst();
}
