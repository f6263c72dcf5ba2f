import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { Digest } from '../http/bodies/wire.ts';

/** What is kept of an internal API key. */
export const ApiKey = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/, 'must be 1 to 64 letters, digits, . _ or -'),
  /** Of the key's text. */
  sha256: Digest,
  /** Without it, the key is known and may do nothing yet. */
  admin: z.boolean(),
});

export type ApiKey = z.output<typeof ApiKey>;

/** A new key of 256 random bits, and what is kept of it. */
export function createApiKey({ name, admin }: Pick<ApiKey, 'name' | 'admin'>) {
  const key = `pik_${randomBytes(32).toString('base64url')}`;
  return { key, kept: { name, sha256: hashApiKey(key), admin } };
}

/** Keys are random and long: one hash is enough. Hex. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
