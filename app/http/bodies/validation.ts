import { z } from 'zod';
import { AppError, type ErrorDetail } from '../../errors/app-error.ts';

/** A body full of mistakes must not make an answer many times its size. */
const maxDetails = 50;

/**
 * Parses one part of a request by its schema. A part without a schema must be absent: an unknown
 * query parameter is refused, an unread body is ignored. Throws `validation_failed` with details.
 */
export function parseInput(
  schema: z.ZodType | undefined,
  value: unknown,
  part: 'path' | 'query' | 'body',
): unknown {
  if (schema === undefined) {
    if (part !== 'query') return undefined;
    schema = z.strictObject({});
  }
  // With it an issue tells a value of another type from a missing one.
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  const details = parsed.error.issues.slice(0, maxDetails).flatMap(describeIssue);
  throw new AppError('validation_failed', { details: details.slice(0, maxDetails) });
}

/** Names where the problem is; only names a client may echo to its developer, never values. */
function describeIssue(issue: z.core.$ZodIssue): ErrorDetail[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, maxDetails).map((key) => ({
      path: pathOf([...issue.path, key]),
      message: 'unknown field',
    }));
  }
  return [{ path: pathOf(issue.path), message: messageOf(issue) }];
}

function messageOf(issue: z.core.$ZodIssue): string {
  return issue.code === 'invalid_type' && issue.input === undefined ? 'is required' : issue.message;
}

/** A name that a client put where another belongs may be a secret of its own: a key, a password. */
const fieldName = /^(?:\d{1,6}|[a-z_][\w-]{0,23})$/i;

function pathOf(path: readonly PropertyKey[]): string {
  return path
    .map((key) => (fieldName.test(String(key)) ? String(key) : '?'))
    .join('.')
    .slice(0, 256);
}
