import canonicalize from 'canonicalize';
import { z } from 'zod';
import type { EntryFault } from './protocol.ts';

const Name = z.string().min(1).max(128);
const Reference = z.string().min(1).max(512);

/**
 * An audit entry as the vault appends it. Its appended text is the RFC 8785 form of this object;
 * the signer adds the members of `SealMembers`, and the text with these is hashed, signed and
 * published. `issuer` is the URL that names the vault. `timestamp` is the time of the event by the
 * vault's clock, UTC with milliseconds. `seq` counts from 1 without gaps per (owner, type, id) of
 * the resource. `salt` is 32 random bytes in base64, so that the hash reveals nothing about an
 * erased text.
 */
export const AuditEntry = z.strictObject({
  v: z.literal(2),
  id: z.uuid().lowercase(),
  issuer: z.string().min(1).max(2048),
  timestamp: z.iso.datetime({ precision: 3 }),
  actor: z.strictObject({
    type: z.enum(['user', 'system', 'anonymous']),
    id: Reference.nullable(),
  }),
  tenant: Name.nullable(),
  action: Name,
  resource: z.strictObject({ type: Name, id: Reference, owner: Reference.nullable() }),
  seq: z.int().positive(),
  outcome: z.enum(['success', 'failure']),
  requestId: Name.nullable(),
  data: z.record(z.string(), z.unknown()),
  salt: z.base64().length(44),
});
export type AuditEntry = z.output<typeof AuditEntry>;

export class EntryError extends Error {
  readonly code: EntryFault;

  constructor(code: EntryFault, options?: ErrorOptions) {
    super(`the text is no valid audit entry: ${code}`, options);
    this.name = 'EntryError';
    this.code = code;
  }
}

/**
 * Parses an appended text. Throws EntryError: `not_canonical` if the text is not the RFC 8785 form
 * of a JSON value, `not_an_entry` if that value is no audit entry.
 */
export function parseEntry(text: string): AuditEntry {
  const value = parseCanonical(text);
  const result = AuditEntry.safeParse(value);
  if (!result.success) throw new EntryError('not_an_entry', { cause: result.error });
  return result.data;
}

function parseCanonical(text: string): unknown {
  let value: unknown;
  let canonical: string | undefined;
  try {
    value = JSON.parse(text);
    canonical = canonicalize(value);
  } catch (cause) {
    throw new EntryError('not_canonical', { cause });
  }
  if (canonical !== text) throw new EntryError('not_canonical');
  return value;
}
