import { z } from 'zod';

/** A UUID of any version, converted to lower case. */
export const Uuid = z.guid().overwrite((id) => id.toLowerCase());

/** A date, written as ISO 8601 in UTC with milliseconds. */
export const Timestamp = z
  .date()
  .transform((date) => date.toISOString())
  .pipe(z.iso.datetime({ precision: 3 }));

/** Accepts canonical base64 with padding, of at most `maxBytes` decoded bytes. */
export function Base64(maxBytes: number) {
  return z
    .base64()
    .max(Math.ceil(maxBytes / 3) * 4)
    .refine(isCanonicalBase64, 'not canonical base64')
    .refine((text) => Buffer.byteLength(text, 'base64') <= maxBytes, 'too long');
}

/** Returns false if unused trailing bits are set, so that each byte string has only one text. */
function isCanonicalBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64') === text;
}

/** A 256-bit digest in lowercase hex. */
export const Digest = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lowercase hex digits');

/** Id of a key in the HSM: the first 16 bytes of the SHA-256 of its SPKI DER, in hex. */
export const KeyId = z.string().regex(/^[0-9a-f]{32}$/, 'must be 32 lowercase hex digits');

/**
 * Accepts up to `maxDigits` hex digits of either case. Refinements that are added to the schema run
 * only if the text is hexadecimal.
 */
export function Hex(maxDigits: number) {
  return z
    .string()
    .min(1)
    .max(maxDigits)
    .regex(/^[0-9a-fA-F]+$/, { error: 'must be hexadecimal', abort: true });
}

/** A moment that a client sends, in ISO 8601. */
export const Moment = z.iso.datetime().transform((text) => new Date(text));

/** A query parameter `true` or `false`; false by default. */
export const Flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((value) => value === 'true');

/** The query parameter `limit`, from 1 to 1000; 100 by default. */
export const Limit = z
  .string()
  .regex(/^[0-9]{1,4}$/, 'must be an integer from 1 to 1000')
  .transform(Number)
  .pipe(z.number().min(1).max(1000))
  .default(100);
