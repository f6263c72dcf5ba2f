import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '../../errors/app-error.ts';

/** The content types that routes read, each with the error for others. */
const errors = {
  'application/json': 'unsupported_media_type',
  'multipart/form-data': 'multipart_required',
} as const;

/**
 * Checks the content type and encoding of a body, which must be UTF-8 if it names a charset. Throws
 * unsupported_media_type or multipart_required, whose details say what came and what is allowed.
 */
export function assertContentType(
  headers: IncomingHttpHeaders,
  expected: keyof typeof errors,
): void {
  const [type = '', ...parameters] = (headers['content-type'] ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const charset = parameters
    .find((parameter) => parameter.startsWith('charset='))
    ?.slice('charset='.length)
    .replaceAll('"', '');
  const encoding = headers['content-encoding'] ?? 'identity';
  const details = [
    ...(type === expected ? [] : [detail('Content-Type', expected, type)]),
    ...(charset === undefined || charset === 'utf-8'
      ? []
      : [detail('Content-Type', 'charset=utf-8', charset)]),
    ...(encoding === 'identity' ? [] : [detail('Content-Encoding', 'identity', encoding)]),
  ];
  if (details.length > 0) throw new AppError(errors[expected], { details });
}

function detail(path: string, allowed: string, came: string) {
  return { path, message: `must be ${allowed}; ${describeSent(came)}` };
}

/** Returns a clause that says what came, and repeats it only if it is a short plain token. */
export function describeSent(value: string): string {
  if (value === '') return 'nothing came';
  return /^[\w.+/-]{1,80}$/.test(value) ? `${value} came` : 'another value came';
}
