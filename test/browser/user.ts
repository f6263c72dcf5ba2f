import { randomBytes, randomUUID } from 'node:crypto';
import type { Credentials } from '../../client/accounts/accounts.ts';
import { untilMail } from '../support/accounts/mailbox.ts';
import type { Vault } from '../support/vault/vault.ts';
import type { Tab } from './tab.ts';

/** Creates an account with a master key, registered, validated and logged in within the page. */
export async function createUser(vault: Vault, tab: Tab): Promise<Credentials> {
  const email = `${randomUUID()}@vault.test`;
  const credentials = { email, password: randomBytes(16).toString('base64url') };
  const { fingerprint } = await tab.run('register', credentials);
  const mail = await untilMail(vault.mailDirectory, email);
  if (mail.fingerprint !== fingerprint) throw new Error('the e-mail shows another fingerprint');
  await tab.run('validateEmail', { token: mail.token });
  await tab.run('logInFirst', credentials);
  return credentials;
}
