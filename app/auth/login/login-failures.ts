import { newAccount } from '../../accounts/new-account.ts';
import type { Tallies } from '../../audit/tallies/tallies.ts';
import type { LabelledKeys } from '../../signing-keys/labelled-keys.ts';
import { hashClientAddress } from './client-address-hash.ts';

interface LoginFailuresOptions {
  readonly tallies: Tallies;
  readonly keys: LabelledKeys;
}

/**
 * The account that a failed login proof was for. `tenantId` is undefined if the account does not
 * exist.
 */
interface FailedAccount {
  readonly userId: string;
  readonly tenantId: string | undefined;
}

export type LoginFailures = ReturnType<typeof createLoginFailures>;

/** Creates the service that records failed login proofs in the audit log. */
export function createLoginFailures({ tallies, keys }: LoginFailuresOptions) {
  return {
    /**
     * Counts a failed login proof. Failures of one account, network and minute share one audit
     * entry. A proof for an account that does not exist is counted in the same way.
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
