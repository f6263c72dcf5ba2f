import { z } from 'zod';
import { AppError, type ErrorDetail } from '../../errors/app-error.ts';

/** Limit on details, so that an error response cannot become much larger than the request. */
const maxDetails = 50;

const noParameters = z.strictObject({});

/**
 * Parses one part of a request by its schema. Without a schema, any query parameter is refused, and
 * a path or body is ignored. Throws validation_failed with details.
 */
export function parseInput(
  schema: z.ZodType | undefined,
  value: unknown,
  part: 'path' | 'query' | 'body',
): unknown {
  if (schema === undefined) {
    if (part !== 'query') return undefined;
    schema = noParameters;
  }
  // With `reportInput`, an issue shows whether a value is missing or has another type.
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  const details = parsed.error.issues.slice(0, maxDetails).flatMap(describeIssue);
  throw new AppError('validation_failed', { details: details.slice(0, maxDetails) });
}

/** Describes where a problem is, by field names only: values may be secret. */
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

/**
 * Field names that are safe to repeat in an error. Any other name may itself be a secret, such as a
 * key or a password, and is replaced by `?`.
 */
const fieldName = /^(?:\d{1,6}|[a-z_][\w-]{0,23})$/i;

function pathOf(path: readonly PropertyKey[]): string {
  return path
    .map((key) => (fieldName.test(String(key)) ? String(key) : '?'))
    .join('.')
    .slice(0, 256);
}
