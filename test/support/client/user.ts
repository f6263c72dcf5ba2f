import { createAccount, type OpenAccount } from '../../../client/demo/steps/account.ts';
import { createNodeFileHash } from '../../../client/node/file-hash.ts';
import {
  createVaultClient,
  type VaultClient,
  type VaultClientOptions,
} from '../../../client/vault.ts';
import type { TestVault } from '../vault/vault.ts';

/** @param fetch sends the requests in place of the real one. */
export function connect(
  { baseUrl }: TestVault,
  fetch = globalThis.fetch,
  options: Partial<VaultClientOptions> = {},
): VaultClient {
  return createVaultClient({ baseUrl, fetch, createFileHash: createNodeFileHash, ...options });
}

/** A new account with a master key, logged in. */
export function createUser(vault: TestVault, client = connect(vault)): Promise<OpenAccount> {
  return createAccount(client, vault.mailDirectory, () => {});
}
