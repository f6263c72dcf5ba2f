import { AppError } from '../errors.ts';

const maxDepth = 64;

/**
 * Refuses what Postgres and canonical JSON cannot hold or what surprises JavaScript: NUL and lone
 * surrogates in any string or key, a `__proto__` key, nesting deeper than 64. Throws invalid_json.
 */
export function assertSafeText(value: unknown): void {
  const pending: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next.value === 'string') {
      if (!isSafeString(next.value)) throw new AppError('invalid_json');
    } else if (typeof next.value === 'object' && next.value !== null) {
      if (next.depth >= maxDepth) throw new AppError('invalid_json');
      for (const [key, member] of Object.entries(next.value)) {
        if (key === '__proto__' || !isSafeString(key)) throw new AppError('invalid_json');
        pending.push({ value: member, depth: next.depth + 1 });
      }
    }
  }
}

export function isSafeString(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
