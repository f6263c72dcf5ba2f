import { AppError } from '../errors/app-error.ts';

const passwordNames: ReadonlySet<string> = new Set(['password', 'passwd', 'pwd']);

/** Refuses a body in which any key, at any depth and in any case, names a password. */
export function forbidPassword(body: unknown): void {
  const pending: unknown[] = [body];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== 'object' || value === null) continue;
    // As entries, the half a million items of a body by a stranger would take five times as long.
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
