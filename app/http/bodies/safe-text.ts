import { AppError } from '../../errors/app-error.ts';

const maxDepth = 64;

type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Throws invalid_json, with the reason under `path`, for values that Postgres or canonical JSON
 * cannot hold or that are dangerous in JavaScript: NUL or lone surrogates in any string or key, a
 * `__proto__` key, or nesting deeper than 64.
 */
export function assertSafeText(value: unknown, path = ''): void {
  const assertSafe = (text: string) => {
    if (!isSafeString(text)) throw unusableJson('has NUL or a lone surrogate in a string', path);
  };
  // 1 MiB holds up to half a million values: allocating for each would block the event loop.
  function assertAll(value: unknown, depth: number): void {
    if (typeof value === 'string') return assertSafe(value);
    if (typeof value !== 'object' || value === null) return;
    if (depth >= maxDepth) throw unusableJson(`is nested deeper than ${maxDepth}`, path);
    if (Array.isArray(value)) {
      for (const item of value) assertAll(item, depth + 1);
      return;
    }
    for (const key of Object.keys(value)) {
      if (key === '__proto__') throw unusableJson('has a member __proto__', path);
      assertSafe(key);
      assertAll((value as JsonObject)[key], depth + 1);
    }
  }
  assertAll(value, 0);
}

/** Returns the error for well-formed JSON that the service does not accept. */
export function unusableJson(message: string, path = '', cause?: unknown): AppError {
  return new AppError('invalid_json', { details: [{ path, message }], cause });
}

export function isSafeString(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
