import { z } from 'zod';

/** A UUID of any version, converted to lower case. */
export const Uuid = z.guid().overwrite((id) => id.toLowerCase());

/** Describes a UUID in a header, as text: some generators of clients send only texts there. */
export const uuidText = z.string().regex(/^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/);

/** ISO 8601 in UTC with milliseconds. */
export const timestampText = z.iso.datetime({ precision: 3 });

/** A date, written as ISO 8601 in UTC with milliseconds. */
export const Timestamp = z
  .date()
  .transform((date) => date.toISOString())
  .pipe(timestampText);

/** A month of the audit log in UTC, such as `2026-01`. */
export const MonthText = z.string().regex(/^[0-9]{4}-[0-9]{2}$/, 'must be a year and a month');

/** Accepts canonical base64 with padding, of at most `maxBytes` decoded bytes. */
export function Base64(maxBytes: number) {
  return z
    .base64()
    .max(Math.ceil(maxBytes / 3) * 4)
    .refine(isCanonicalBase64, 'not canonical base64')
    .refine((text) => Buffer.byteLength(text, 'base64') <= maxBytes, 'too long')
    .meta({ description: `Base64 with padding, of at most ${maxBytes} bytes.` });
}

/** Returns false if unused trailing bits are set, so that each byte string has only one text. */
function isCanonicalBase64(text: string): boolean {
  return Buffer.from(text, 'base64').toString('base64') === text;
}

/** Text that the service stored or made as base64. It is described, but not checked again. */
export const Base64Text = z.string().meta({ contentEncoding: 'base64' });

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
  .transform((value) => value === 'true')
  .meta(describedAs({ type: 'boolean', default: false }));

/** The query parameter `limit`, from 1 to 1000; 100 by default. */
export const Limit = IntegerText(1, 1000)
  .default(100)
  .meta({
    description: 'Maximum number of items of a page.',
    ...describedAs({ type: 'integer', minimum: 1, maximum: 1000, default: 100 }),
  });

/** The query parameter `cursor` of lists whose items have UUIDs. */
export const UuidCursor = Uuid.optional().describe(
  'Place after which the page begins, from the `Link` of the page before. Default: the start.',
);

/** An integer from `min` to `max` that arrives as text, in a path or a query. */
export function IntegerText(min: number, max: number) {
  const message = `must be an integer from ${min} to ${max}`;
  return z
    .string()
    .regex(/^(?:0|[1-9][0-9]{0,9})$/, message)
    .transform(Number)
    .pipe(z.number().min(min, message).max(max, message))
    .meta(describedAs({ type: 'integer', minimum: min, maximum: max }));
}

/** Returns metadata by which the API document shows a schema as this JSON Schema. */
export function describedAs(jsonSchema: Readonly<Record<string, unknown>>) {
  return {
    override: ({ jsonSchema: shown }: { readonly jsonSchema: Record<string, unknown> }) => {
      const { description } = shown;
      for (const name of Object.keys(shown)) delete shown[name];
      Object.assign(shown, description === undefined ? {} : { description }, jsonSchema);
    },
  };
}
