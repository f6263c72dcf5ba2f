import { z } from 'zod';
import type { ZodOpenApiOperationObject } from 'zod-openapi';
import type { Access } from '../requests/caller.ts';
import { EventStream } from '../responses/event-stream.ts';
import { StreamedAnswer } from '../responses/streamed-answer.ts';
import type { Contribution } from '../routing/contribution.ts';
import type { Route } from '../routing/route.ts';
import { contributionsOf } from './contributions.ts';
import { failures } from './failures.ts';
import { answeredRequestId, retryAfter } from './headers.ts';
import { eventResponses, headResponses, octets, streamedResponses } from './stream.ts';

/** Describes a route as an operation. */
export function describeOperation(route: Route): ZodOpenApiOperationObject {
  const contributions = contributionsOf(route);
  const { aliases = [], query } = route;
  return {
    operationId: route.operation,
    tags: [route.tag],
    summary: route.summary,
    description: descriptionOf(route, contributions),
    security: security(route.access),
    requestParams: {
      ...(route.params === undefined ? {} : { path: route.params as z.ZodObject }),
      ...(query === undefined ? {} : { query: query as z.ZodObject }),
      header: z.object(join(contributions, 'requestHeaders')),
    },
    ...requestBody(route),
    responses: { ...successes(route, contributions), ...failures(route, contributions) },
    ...(aliases.length === 0 ? {} : { 'x-aliases': aliases.map(toTemplate) }),
  };
}

/** Describes HEAD for routes that stream bytes. The router supports HEAD for every GET route. */
export function describeHead(route: Route): ZodOpenApiOperationObject {
  const { responses: _all, ...operation } = describeOperation(route);
  const responses = headResponses(route.summary);
  return {
    ...operation,
    operationId: `${route.operation}Head`,
    responses: {
      ...mapValues(responses, identified),
      // A response to HEAD has no content.
      ...mapValues(failures(route, contributionsOf(route)), ({ content: _none, ...rest }) => rest),
    },
  };
}

/** Returns a path as the API document writes it: with `{id}` for `:id`. */
export function toTemplate(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}');
}

function descriptionOf(
  { summary, aliases = [], idempotent }: Route,
  contributions: readonly Contribution[],
): string {
  const paths = aliases.map((path) => `\`${toTemplate(path)}\``).join(' and ');
  const notes = [
    ...contributions.flatMap(({ note }) => note ?? []),
    ...(idempotent === true ? ['Can be repeated safely under an Idempotency-Key.'] : []),
    ...(aliases.length === 0 ? [] : [`Answers at ${paths} too.`]),
  ];
  return [`${summary}.`, ...notes].join('\n\n');
}

/** Joins the headers of all contributions. */
function join(
  contributions: readonly Contribution[],
  kind: 'requestHeaders' | 'answerHeaders',
): Record<string, z.ZodType> {
  return Object.assign({}, ...contributions.map((each) => each[kind]));
}

/**
 * Returns the alternative ways to authenticate. Scopes are named in the description: OpenAPI knows
 * scopes of OAuth 2 and OpenID Connect only.
 */
function security(access: Access): Record<string, string[]>[] {
  if (access === 'public') return [];
  if (access === 'internal') return [{ internalKey: [] }];
  const bearer = { bearer: [] };
  const reauthenticated = { bearer: [], reauth: [] };
  const isBearerEnough = access.reauth !== true || access.orRecovery === true;
  const takesReauth = access.reauth === true || access.freshProof !== undefined;
  return [
    ...(isBearerEnough ? [bearer] : []),
    ...(takesReauth ? [reauthenticated] : []),
    ...(access.orInternal === true ? [{ internalKey: [] }] : []),
  ];
}

function requestBody(route: Route): Pick<ZodOpenApiOperationObject, 'requestBody'> {
  const description = `At most ${route.maxBodyBytes} bytes.`;
  if (route.streamsBody === true) {
    return { requestBody: { description, required: true, content: octets } };
  }
  if (route.streamsForm !== undefined) {
    const encoding = { document: { contentType: 'application/json' } };
    const content = { 'multipart/form-data': { schema: route.streamsForm, encoding } };
    return { requestBody: { description, required: true, content } };
  }
  if (route.body === undefined) return {};
  return {
    requestBody: {
      description,
      required: route.isBodyOptional !== true,
      content: { 'application/json': { schema: route.body } },
    },
  };
}

function successes(route: Route, contributions: readonly Contribution[]) {
  const { summary, response, streams, otherStatuses = {} } = route;
  const headers = join(contributions, 'answerHeaders');
  if (response === StreamedAnswer) return mapValues(streamedResponses(summary), identified);
  if (response === EventStream) return mapValues(eventResponses(summary), identified);
  const schema = streams ?? response;
  const content = schema === undefined ? {} : { content: { 'application/json': { schema } } };
  // The whole of a streamed text may be longer than a chunk, which `maxAnswerBytes` bounds.
  const isBounded = route.maxAnswerBytes !== undefined && streams === undefined;
  const description = isBounded ? `${summary}. At most ${route.maxAnswerBytes} bytes.` : summary;
  const success = identified({ description, headers, ...content });
  return { [String(route.status)]: success, ...mapValues(otherStatuses, other) };

  function other(text: string) {
    return identified({ description: text, headers: { 'Retry-After': retryAfter }, ...content });
  }
}

/** Adds the header that every response has. */
function identified<R extends { readonly headers: object }>(response: R) {
  return {
    ...response,
    headers: z.object({ 'X-Request-Id': answeredRequestId, ...response.headers }),
  };
}

function mapValues<T, U>(values: Readonly<Record<string, T>>, change: (value: T) => U) {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value)]));
}
