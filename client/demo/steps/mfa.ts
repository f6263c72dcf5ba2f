import { createInterface } from 'node:readline/promises';
import { hasCode } from '../../errors/vault-error.ts';
import type { VaultSession } from '../../session.ts';
import type { VaultClient } from '../../vault.ts';
import { DemoError } from '../terminal/demo-error.ts';
import type { Say } from '../terminal/say.ts';
import { createAccount } from './account.ts';

interface MfaDemoOptions {
  readonly client: VaultClient;
  readonly mails: string;
  readonly say: Say;
}

/**
 * Sets MFA up for a new account: shows the URI for an authenticator, takes its code from standard
 * input, and disables MFA again. Throws DemoError if standard input ends before.
 */
export async function setUpMfa({ client, mails, say }: MfaDemoOptions): Promise<void> {
  const { session, credentials } = await createAccount(client, mails, say);
  const { qrCodeUri, secret, expiresAt } = await session.mfa.begin();
  say(`add this to an authenticator app: ${qrCodeUri}`);
  say(`or type the secret ${secret}, until ${expiresAt}`);
  const codes = await confirm(session, say);
  say('MFA is enabled at the identity provider; these recovery codes are shown only once:');
  for (const code of codes) say(`  ${code}`);
  const newer = await session.mfa.replaceRecoveryCodes(credentials.password);
  say(`replaced the recovery codes: the first is now ${newer[0] ?? ''}`);
  await session.mfa.disable(credentials.password);
  const { enabled } = await session.mfa.status();
  if (enabled) throw new DemoError('MFA is still enabled');
  say('MFA is disabled again');
}

/** Asks for codes until one is right. */
async function confirm(session: VaultSession, say: Say): Promise<readonly string[]> {
  const lines = createInterface({ input: process.stdin });
  try {
    say('type the code that the authenticator shows, and Enter:');
    for await (const line of lines) {
      const code = line.replaceAll(' ', '');
      if (!/^[0-9]{6}$/.test(code)) {
        say('a code has 6 digits:');
        continue;
      }
      try {
        return await session.mfa.confirm(code);
      } catch (error) {
        if (!hasCode(error, 'invalid_code')) throw error;
        say('that code is wrong or was used; type the next one:');
      }
    }
  } finally {
    lines.close();
  }
  throw new DemoError('no code was typed');
}
