import { AppError } from '../errors.ts';

const maxDepth = 64;

/**
 * Refuses what Postgres and canonical JSON cannot hold or what surprises JavaScript: NUL and lone
 * surrogates in any string or key, a `__proto__` key, nesting deeper than 64. Throws invalid_json,
 * with the reason under `path`.
 */
export function assertSafeText(value: unknown, path = ''): void {
  const assertSafe = (text: string) => {
    if (!isSafeString(text)) throw unusableJson('has NUL or a lone surrogate in a string', path);
  };
  const pending: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next.value === 'string') {
      assertSafe(next.value);
    } else if (typeof next.value === 'object' && next.value !== null) {
      if (next.depth >= maxDepth) throw unusableJson(`is nested deeper than ${maxDepth}`, path);
      for (const [key, member] of Object.entries(next.value)) {
        if (key === '__proto__') throw unusableJson('has a member __proto__', path);
        assertSafe(key);
        pending.push({ value: member, depth: next.depth + 1 });
      }
    }
  }
}

/** Of JSON that is well formed: what in it is not taken. */
export function unusableJson(message: string, path = ''): AppError {
  return new AppError('invalid_json', { details: [{ path, message }] });
}

export function isSafeString(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
