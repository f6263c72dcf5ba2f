import { z } from 'zod';

const common = {
  to: z.string(),
  /** Time after which the mail is useless and is no longer sent. */
  expiresAt: z.iso.datetime(),
};

const Nothing = z.strictObject({});

/** A mail to one e-mail address: a template and its values. */
export const Mail = z.discriminatedUnion('template', [
  z.strictObject({
    template: z.literal('validate'),
    ...common,
    values: z.strictObject({
      token: z.uuid(),
      fingerprint: z.string().regex(/^[0-9a-f]{8}$/),
    }),
  }),
  z.strictObject({ template: z.literal('already-registered'), ...common, values: Nothing }),
  z.strictObject({ template: z.literal('account-closed'), ...common, values: Nothing }),
]);

export type Mail = z.output<typeof Mail>;

export type ValidateMail = Extract<Mail, { template: 'validate' }>;

/** Returns the expiry of a mail that reports an event at the time `now`: one day later. */
export function noticeExpiry(now: Date): string {
  return new Date(now.getTime() + 86_400_000).toISOString();
}
