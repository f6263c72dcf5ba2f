import { newAccount } from '../../accounts/new-account.ts';
import type { Tallies } from '../../audit/tallies/tallies.ts';
import type { LabelledKeys } from '../../signing-keys/labelled-keys.ts';
import { hashClientAddress } from './client-address-hash.ts';

interface LoginFailuresOptions {
  readonly tallies: Tallies;
  readonly keys: LabelledKeys;
}

/** The account that a failed proof was for; without a tenant if there is no such account. */
interface FailedAccount {
  readonly userId: string;
  readonly tenantId: string | undefined;
}

export type LoginFailures = ReturnType<typeof createLoginFailures>;

/** Creates the record of failed login proofs in the audit log. */
export function createLoginFailures({ tallies, keys }: LoginFailuresOptions) {
  return {
    /**
     * Counts a failed proof for the entry of its account, network and minute. A proof for an
     * account that does not exist is counted alike.
     */
    async add(
      { userId, tenantId = newAccount.tenant_id }: FailedAccount,
      clientAddress: string,
    ): Promise<void> {
      await tallies.add({
        action: 'auth.login_failed',
        actor: { type: 'anonymous', id: null },
        owner: { userId, tenantId },
        resource: { type: 'account', id: userId },
        data: { addressHash: hashClientAddress(keys.get('address-hash'), clientAddress) },
      });
    },
  };
}
