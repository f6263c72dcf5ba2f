import { z } from 'zod';
import type { JsonObject } from './json.ts';
import { statementsMember, typeMember } from './reserved-members.ts';

/** Maximum depth that the vault accepts; the data object itself is the first level. */
const maxLevels = 32;

const Json = z.record(z.string(), z.json());

/**
 * Returns a validated copy of an application's data. Throws TypeError for anything that is not JSON
 * (such as undefined), for more than 32 levels, for names of fields that the vault refuses, and for
 * the reserved members `$type` and `$devices`.
 */
export function parseObjectData(data: unknown): JsonObject {
  // Names are checked in the original, since zod drops __proto__.
  assertStorable(data);
  const parsed = Json.safeParse(data);
  if (!parsed.success) throw new TypeError('The data of an object must be a JSON object.');
  for (const name of [typeMember, statementsMember]) {
    if (Object.hasOwn(parsed.data, name)) {
      throw new TypeError(`The field name ${name} is reserved.`);
    }
  }
  return parsed.data;
}

/**
 * Returns the type of an object unchanged. Throws TypeError for a type that the vault refuses: the
 * object could never be sent, and its type cannot be changed.
 */
export function parseObjectType(objectType: string | undefined): string | undefined {
  if (objectType === undefined || /^[\w.-]{1,64}$/.test(objectType)) return objectType;
  throw new TypeError('The type of an object must be 1 to 64 letters, digits, ".", "_" or "-".');
}

/**
 * Throws TypeError for field names and depths that the vault refuses. Objects inside arrays are
 * checked too: the vault sees them as ciphertext, but they may become part of a public field.
 */
function assertStorable(value: unknown, level = 1): void {
  if (typeof value !== 'object' || value === null) return;
  if (level > maxLevels) throw new TypeError('The data of an object has too many levels.');
  for (const [key, member] of Object.entries(value)) {
    if (key === '__proto__' || key.includes('\0') || !key.isWellFormed()) {
      throw new TypeError(
        'A field name must not be __proto__, contain NUL or contain a lone surrogate.',
      );
    }
    assertStorable(member, level + 1);
  }
}
