import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { Digest } from '../http/bodies/wire.ts';

/** The stored form of an internal API key. */
export const ApiKey = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/, 'must be 1 to 64 letters, digits, . _ or -'),
  /** SHA-256 of the text of the key. */
  sha256: Digest,
  /** The admin right. Requests with a key without this right are refused by access_denied. */
  admin: z.boolean(),
});

export type ApiKey = z.output<typeof ApiKey>;

/** Creates a key of 256 random bits, and its stored form. */
export function createApiKey({ name, admin }: Pick<ApiKey, 'name' | 'admin'>) {
  const key = `pik_${randomBytes(32).toString('base64url')}`;
  return { key, kept: { name, sha256: hashApiKey(key), admin } };
}

/** Returns the SHA-256 of a key in hex. One hash is enough, since keys are long and random. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
