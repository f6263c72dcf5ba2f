import { randomBytes, randomUUID } from 'node:crypto';
import type { ValidateMail } from '../../app/outbox/mail.ts';

/** Settings of every mailer. */
export const messageOptions = {
  from: 'The Vault <no-reply@vault.example.org>',
  publicUrl: 'https://vault.example.org',
  clock: () => new Date(),
};

/** Returns a validation e-mail with a new token, by default to a new e-mail address. */
export function validateMail(to = `${randomUUID()}@vault.test`): ValidateMail {
  const fingerprint = randomBytes(4).toString('hex');
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  return { template: 'validate', to, expiresAt, values: { token: randomUUID(), fingerprint } };
}
