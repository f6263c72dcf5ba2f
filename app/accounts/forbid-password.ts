import { AppError } from '../errors/app-error.ts';

const passwordNames: ReadonlySet<string> = new Set(['password', 'passwd', 'pwd']);

/**
 * Throws password_forbidden if a property name at any depth of the body, in upper or lower case,
 * names a password.
 */
export function forbidPassword(body: unknown): void {
  const pending: unknown[] = [body];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== 'object' || value === null) continue;
    // Arrays are handled apart, since Object.entries takes five times as long for the half a
    // million items that a body can hold.
    if (Array.isArray(value)) {
      for (const item of value) pending.push(item);
      continue;
    }
    for (const [key, member] of Object.entries(value)) {
      if (passwordNames.has(key.toLowerCase())) throw new AppError('password_forbidden');
      pending.push(member);
    }
  }
}
