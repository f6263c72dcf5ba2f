import { randomBytes, randomUUID } from 'node:crypto';
import type { ValidateMail } from '../../app/outbox/mail.ts';

/** What every mailer needs to know of its service. */
export const messageOptions = {
  from: 'The Vault <no-reply@vault.example.org>',
  publicUrl: 'https://vault.example.org',
  clock: () => new Date(),
};

/** A validation mail with a token of its own, to an address of its own unless given. */
export function validateMail(to = `${randomUUID()}@vault.test`): ValidateMail {
  const fingerprint = randomBytes(4).toString('hex');
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  return { template: 'validate', to, expiresAt, values: { token: randomUUID(), fingerprint } };
}
