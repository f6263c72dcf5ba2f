import { z } from 'zod';
import { describeError, type ErrorCode } from '../../errors/error-codes.ts';
import type { Contribution } from '../routing/contribution.ts';
import type { Route } from '../routing/route.ts';
import { ErrorBody, errorWith } from './error-schemas.ts';
import { answeredRequestId, retryAfter, retryAfterIfPassing, wwwAuthenticate } from './headers.ts';

/** Schemas of error bodies with more members, which exist once, since they are named. */
const bodies = new Map<ErrorCode, { readonly members: z.ZodObject; readonly body: z.ZodObject }>();

/** Describes error responses by status: the codes of the route and of the layers around it. */
export function failures(route: Route, contributions: readonly Contribution[]) {
  const codes = new Set([...route.errors, ...contributions.flatMap(({ errors = [] }) => errors)]);
  const forbidden = new Set(route.forbids);
  const byStatus = Map.groupBy([...codes, ...forbidden], (code) =>
    forbidden.has(code) ? 403 : describeError(code).status,
  );
  return Object.fromEntries(
    [...byStatus]
      .toSorted(([one], [other]) => one - other)
      .map(([status, found]) => [String(status), failure(route, contributions, status, found)]),
  );
}

function failure(
  { errorMembers = {} }: Route,
  contributions: readonly Contribution[],
  status: number,
  codes: readonly ErrorCode[],
) {
  const special = codes.flatMap((code) => {
    const members = errorMembers[code];
    return members === undefined ? [] : [bodyOf(code, members)];
  });
  const schema = special.length === 0 ? ErrorBody : z.union([...special, ErrorBody]);
  const meanings = codes.map((code) => `\`${code}\`: ${describeError(code).message}`);
  const described: Record<string, z.ZodType> = {};
  const possible: Record<string, z.ZodType> = {};
  for (const { errorHeaders = {}, failureHeaders } of contributions) {
    Object.assign(possible, failureHeaders);
    for (const code of codes) Object.assign(described, errorHeaders[code]);
  }
  return {
    description: meanings.join('\n\n'),
    headers: z.object({
      'X-Request-Id': answeredRequestId,
      ...usualHeaders(status, codes),
      ...optionally(possible, true),
      ...optionally(described, codes.length > 1),
    }),
    content: { 'application/json': { schema } },
    'x-error-codes': codes,
  };
}

/** Returns the headers of errors with this status. */
function usualHeaders(status: number, codes: readonly ErrorCode[]): Record<string, z.ZodType> {
  const isForLater = codes.some((code) => describeError(code).isForLater);
  const isAlwaysForLater = status === 429 || status === 503;
  return {
    ...(status === 401 ? { 'WWW-Authenticate': wwwAuthenticate } : {}),
    ...(isAlwaysForLater ? { 'Retry-After': retryAfter } : {}),
    ...(isForLater && !isAlwaysForLater ? { 'Retry-After': retryAfterIfPassing } : {}),
  };
}

/** Makes headers optional if only some errors of a status have them. */
function optionally(headers: Record<string, z.ZodType>, areOptional: boolean) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, schema]) => [
      name,
      areOptional ? schema.optional().describe(schema.description ?? '') : schema,
    ]),
  );
}

/** Returns the schema of the body. The members of a code must be the same on every route. */
function bodyOf(code: ErrorCode, members: z.ZodObject): z.ZodObject {
  const known = bodies.get(code) ?? { members, body: errorWith(code, members) };
  if (known.members !== members) throw new Error(`${code} is documented with other members`);
  bodies.set(code, known);
  return known.body;
}
