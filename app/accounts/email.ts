import { createHmac } from 'node:crypto';
import { z } from 'zod';

/** An e-mail address as accounts know it: trimmed and lower-cased. */
export const Email = z
  .string()
  .trim()
  .toLowerCase()
  .pipe(z.email().max(254))
  .meta({ description: 'Trimmed and lower-cased by the service.' });

/** The only form in which an address enters the audit log: HMAC-SHA-256, hex. */
export function hashEmail(key: Buffer, email: string): string {
  return createHmac('sha256', key).update(email).digest('hex');
}
