import { z } from 'zod';
import type { KnownVisitor } from './visitor.ts';

const place = 'probatio.explorer';
const Known = z.object({ email: z.string(), deviceId: z.guid() });

/** Keeps the e-mail address and the device of a login for the next visit. They are no secrets. */
export function remember({ email, deviceId }: KnownVisitor): void {
  localStorage.setItem(place, JSON.stringify({ email, deviceId }));
}

/** Returns the last login of this browser. */
export function recall(): KnownVisitor | undefined {
  try {
    return Known.parse(JSON.parse(localStorage.getItem(place) ?? ''));
  } catch {
    return undefined;
  }
}
