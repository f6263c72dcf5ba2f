import { createHmac } from 'node:crypto';
import { z } from 'zod';

/** An e-mail address in the form that accounts have: trimmed and in lower case. */
export const Email = z
  .string()
  .trim()
  .toLowerCase()
  .pipe(z.email().max(254))
  .meta({ description: 'E-mail address; the service trims it and lower-cases it.' });

/** Returns the HMAC-SHA-256 of an e-mail address in hex, the only form that the audit log holds. */
export function hashEmail(key: Buffer, email: string): string {
  return createHmac('sha256', key).update(email).digest('hex');
}
