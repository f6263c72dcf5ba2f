import { randomUUID } from 'node:crypto';
import type { Bytes } from '../../../client/bytes/bytes.ts';
import type { RetryPolicy } from '../../../client/http/retry.ts';
import { createNodeHash } from '../../../client/node/hash.ts';
import type { VaultSession } from '../../../client/session.ts';
import { createVaultClient } from '../../../client/vault.ts';
import { untilMail } from '../../support/accounts/mailbox.ts';
import type { VaultProcesses } from '../../support/processes/vault-processes.ts';

export interface Account {
  readonly email: string;
  readonly password: string;
}

/** An account logged in through the reference client. Its access token is valid for 15 minutes. */
export interface User extends Account {
  readonly session: VaultSession;
  readonly masterKey: Bytes;
  /** Sends the requests of its client; the global fetch if undefined. */
  readonly fetch: typeof globalThis.fetch | undefined;
}

export interface ClientOptions {
  readonly fetch?: typeof globalThis.fetch;
  readonly retry?: RetryPolicy;
}

/** Creates a validated account with a master key. */
export async function createAccount(
  vault: Pick<VaultProcesses, 'baseUrl' | 'mailDirectory'>,
): Promise<Account> {
  const account = { email: `${randomUUID()}@vault.test`, password: randomUUID() };
  const client = createClient(vault, {});
  const { fingerprint } = await client.register(account);
  const mail = await untilMail(vault.mailDirectory, account.email);
  if (mail.fingerprint !== fingerprint)
    throw new Error('the e-mail belongs to another registration');
  await client.validateEmail(mail.token);
  const session = await client.login(account);
  await session.envelopes.createMasterKey();
  return account;
}

export async function logIn(
  vault: Pick<VaultProcesses, 'baseUrl'>,
  account: Account,
  options: ClientOptions = {},
): Promise<User> {
  const session = await createClient(vault, options).login(account);
  const masterKey = await session.envelopes.openMasterKey();
  return { ...account, session, masterKey, fetch: options.fetch };
}

function createClient({ baseUrl }: Pick<VaultProcesses, 'baseUrl'>, options: ClientOptions) {
  return createVaultClient({ baseUrl, createHash: createNodeHash, ...options });
}
