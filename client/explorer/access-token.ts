import { z } from 'zod';

const Claims = z.object({ exp: z.number(), sub: z.string() });

/** Returns when an access token expires, or undefined for a text that is no such token. */
export function expiryOf(token: string): Date | undefined {
  const [, payload = ''] = token.split('.');
  try {
    const text = atob(payload.replaceAll('-', '+').replaceAll('_', '/'));
    return new Date(Claims.parse(JSON.parse(text)).exp * 1000);
  } catch {
    return undefined;
  }
}
