import { randomBytes, randomUUID } from 'node:crypto';
import type { Credentials } from '../../accounts/accounts.ts';
import type { Bytes } from '../../bytes/bytes.ts';
import type { VaultSession } from '../../session.ts';
import { VaultError } from '../../errors/vault-error.ts';
import type { VaultClient } from '../../vault.ts';
import { DemoError } from '../terminal/demo-error.ts';
import type { Say } from '../terminal/say.ts';
import { openMailbox } from './validation-mail.ts';

export interface OpenAccount {
  readonly credentials: Credentials;
  readonly session: VaultSession;
  readonly masterKey: Bytes;
}

/** Registers and validates a new account, logs in and creates its master key. */
export async function createAccount(
  client: VaultClient,
  mails: string,
  say: Say,
): Promise<OpenAccount> {
  const credentials = {
    email: `demo-${randomUUID()}@example.com`,
    password: randomBytes(16).toString('base64url'),
  };
  const mailbox = await openMailbox(mails);
  say(`registering ${credentials.email}`);
  const { fingerprint } = await client.register(credentials);
  const mail = await mailbox.receive(credentials.email);
  if (mail.fingerprint !== fingerprint) {
    throw new DemoError(
      `the mail shows the fingerprint ${mail.fingerprint}, not ${fingerprint}: ` +
        'somebody else registered this e-mail address, so the token must not be used',
    );
  }
  await client.validateEmail(mail.token);
  say(`validated: the mail shows the same fingerprint, ${fingerprint}`);

  const session = await client.login(credentials);
  say('logged in by SRP: the vault never saw the password, and proved that it knows the verifier');
  const masterKey = await session.envelopes.createMasterKey();
  say('created the master key: the vault keeps it wrapped under the password');
  return { credentials, session, masterKey };
}

/** Logs in and opens the master key. Resolves with undefined if the vault has no such account. */
export async function openAccount(
  client: VaultClient,
  credentials: Credentials,
): Promise<OpenAccount | undefined> {
  try {
    const session = await client.login(credentials);
    return { credentials, session, masterKey: await session.envelopes.openMasterKey() };
  } catch (error) {
    if (error instanceof VaultError && error.status === 404) return undefined;
    throw error;
  }
}
