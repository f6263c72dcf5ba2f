import { newAccount } from '../../accounts/new-account.ts';
import type { Tallies } from '../../audit/tallies/tallies.ts';
import type { LabelledKeys } from '../../keys/labelled-keys.ts';
import { hashAddress } from './address-hash.ts';

/** Failed proofs in the audit log: one entry an account, network and minute. */
export interface LoginFailures {
  /** An account that does not exist is recorded alike. */
  add(
    account: { userId: string; tenantId: string | undefined },
    clientAddress: string,
  ): Promise<void>;
}

interface LoginFailuresOptions {
  readonly tallies: Tallies;
  readonly keys: LabelledKeys;
}

export function createLoginFailures({ tallies, keys }: LoginFailuresOptions): LoginFailures {
  return {
    async add({ userId, tenantId = newAccount.tenant_id }, clientAddress) {
      await tallies.add({
        action: 'auth.login_failed',
        actor: { type: 'anonymous', id: null },
        owner: { userId, tenantId },
        resource: { type: 'account', id: userId },
        data: { addressHash: hashAddress(keys.get('address-hash'), clientAddress) },
      });
    },
  };
}
