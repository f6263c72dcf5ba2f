import type { OutboxPayloads } from '../../app/outbox/outbox.ts';
import type { OutboxHandlers } from '../../app/outbox/worker.ts';

/** Returns handlers for a test of e-mails. The other handlers fail unless given. */
export function emailHandlers(
  email: OutboxHandlers['email'],
  others: Partial<OutboxHandlers> = {},
): OutboxHandlers {
  const unexpected = async () => {
    throw new Error('not part of this test');
  };
  return {
    email,
    registration: unexpected,
    'mfa.forget': unexpected,
    'account.sweep': unexpected,
    'object.delete': unexpected,
    'multipart.abort': unexpected,
    ...others,
  };
}

export function mailTo(to: string): OutboxPayloads['email'] {
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  return { to, template: 'already-registered', values: {}, expiresAt };
}
