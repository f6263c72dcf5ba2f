import { createAccount, type OpenAccount } from '../../../client/demo/steps/account.ts';
import { createNodeHash } from '../../../client/node/hash.ts';
import {
  createVaultClient,
  type VaultClient,
  type VaultClientOptions,
} from '../../../client/vault.ts';
import type { Vault } from '../vault/vault.ts';

/** @param fetch Sends the requests in place of the global fetch. */
export function connect(
  { baseUrl }: Vault,
  fetch = globalThis.fetch,
  options: Partial<VaultClientOptions> = {},
): VaultClient {
  return createVaultClient({ baseUrl, fetch, createHash: createNodeHash, ...options });
}

/** Creates an account with a master key and logs it in. */
export function createUser(vault: Vault, client = connect(vault)): Promise<OpenAccount> {
  return createAccount(client, vault.mailDirectory, () => {});
}
