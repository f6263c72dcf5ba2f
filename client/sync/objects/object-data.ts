import { z } from 'zod';
import type { JsonObject } from './json.ts';
import { typeMember } from './object-encryption.ts';

/** As the vault counts them: the data itself is the first. */
const maxLevels = 32;

const Json = z.record(z.string(), z.json());

/**
 * A copy of what an application wants kept. Throws TypeError for what is not JSON, as undefined, for
 * more than 32 levels of it, for names that the vault refuses, and for the member that is ours.
 */
export function parseObjectData(data: unknown): JsonObject {
  // Zod leaves __proto__ out, so the names are read from what was given.
  assertStorable(data);
  const parsed = Json.safeParse(data);
  if (!parsed.success) throw new TypeError('the data of an object must be a JSON object');
  if (Object.hasOwn(parsed.data, typeMember)) throw new TypeError(`${typeMember} is taken`);
  return parsed.data;
}

/** Throws TypeError for what the vault refuses: the object could never be sent, and its type not be changed. */
export function parseObjectType(objectType: string | undefined): string | undefined {
  if (objectType === undefined || /^[\w.-]{1,64}$/.test(objectType)) return objectType;
  throw new TypeError('the type of an object is 1 to 64 letters, digits, . _ or -');
}

/** Arrays are looked into as well, though the vault sees them as ciphertext: another field may be public. */
function assertStorable(value: unknown, level = 1): void {
  if (typeof value !== 'object' || value === null) return;
  if (level > maxLevels) throw new TypeError('the data of an object has too many levels');
  for (const [key, member] of Object.entries(value)) {
    if (key === '__proto__' || key.includes('\0') || !key.isWellFormed()) {
      throw new TypeError('the vault takes no such name of a field');
    }
    assertStorable(member, level + 1);
  }
}
