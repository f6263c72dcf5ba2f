import { z } from 'zod';

/** Schemas of the wire forms that every feature shares (contract, "Common"). */

export const Uuid = z.guid().overwrite((id) => id.toLowerCase());

/** ISO 8601 UTC with milliseconds. */
export const Timestamp = z
  .date()
  .transform((date) => date.toISOString())
  .pipe(z.iso.datetime({ precision: 3 }));

/** Standard base64 with padding, canonical, of at most `maxBytes` decoded bytes. */
export function Base64(maxBytes: number) {
  return z
    .base64()
    .max(Math.ceil(maxBytes / 3) * 4)
    .refine(isCanonicalBase64, 'not canonical base64')
    .refine((text) => Buffer.byteLength(text, 'base64') <= maxBytes, 'too long');
}

/** False where unused trailing bits are set, so that one byte string has one text. */
function isCanonicalBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64') === text;
}

/** 64 lowercase hex digits of a 256-bit digest. */
export const Digest = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lowercase hex digits');

/** Of a key in the HSM: the first 16 bytes of the SHA-256 of its SPKI DER. */
export const KeyId = z.string().regex(/^[0-9a-f]{32}$/, 'must be 32 lowercase hex digits');

/** Hex of either case and any length up to `maxDigits`; refinements see nothing else. */
export function Hex(maxDigits: number) {
  return z
    .string()
    .min(1)
    .max(maxDigits)
    .regex(/^[0-9a-fA-F]+$/, { error: 'must be hexadecimal', abort: true });
}

/** A moment that a client names. */
export const Moment = z.iso.datetime().transform((text) => new Date(text));

/** `true` or `false` of a query, false unless given. */
export const Flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((value) => value === 'true');

/** `?limit=`: 1 to 1000, 100 unless given. */
export const Limit = z
  .string()
  .regex(/^[0-9]{1,4}$/, 'must be an integer from 1 to 1000')
  .transform(Number)
  .pipe(z.number().min(1).max(1000))
  .default(100);
