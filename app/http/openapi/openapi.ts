import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
} from 'zod-openapi';
import { describeError, type ErrorCode } from '../../errors/error-codes.ts';
import { recoveryScope, type Access } from '../requests/caller.ts';
import { EventStream } from '../responses/event-stream.ts';
import { answerHeaders, requestHeaders } from './headers.ts';
import { eventResponses, headResponses, octets, streamedResponses } from './stream.ts';
import type { Route } from '../routing/route.ts';
import { StreamedAnswer } from '../responses/streamed-answer.ts';

const ErrorBody = z
  .object({
    statusCode: z.int(),
    message: z.string(),
    error: z.string(),
    timestamp: z.iso.datetime(),
    path: z.string(),
    code: z.string(),
    requestId: z.string(),
    details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  })
  .meta({
    id: 'Error',
    description:
      'The body of every error response. `code` is stable; branch on it, not on `message`.',
  });

interface ApiInfo {
  readonly title: string;
  readonly version: string;
  readonly description: string;
}

/** Creates the OpenAPI 3.1 document of the routes. */
export function createOpenApi(routes: readonly Route[], info: ApiInfo) {
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes) {
    for (const path of [route.path, ...(route.aliases ?? [])]) {
      const template = path.replace(/:(\w+)/g, '{$1}');
      paths[template] = {
        ...paths[template],
        [route.method]: operation(route, path),
        ...(route.response === StreamedAnswer ? { head: headOperation(route, path) } : {}),
      };
    }
  }
  return createDocument({
    openapi: '3.1.0',
    info: { ...info, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'at+jwt' },
        reauth: { type: 'apiKey', in: 'header', name: 'X-Reauth-Token' },
        internalKey: { type: 'apiKey', in: 'header', name: 'X-Internal-Api-Key' },
      },
    },
  });
}

function operation(route: Route, path: string): ZodOpenApiOperationObject {
  return {
    operationId: operationId(route.method, path),
    tags: [route.tag],
    summary: route.summary,
    security: security(route.access),
    requestParams: {
      ...(route.params === undefined ? {} : { path: route.params as z.ZodObject }),
      ...(route.query === undefined ? {} : { query: route.query as z.ZodObject }),
      ...requestHeaders(route),
    },
    ...requestBody(route),
    responses: { ...success(route), ...failures(route) },
  };
}

/** Describes HEAD for routes that stream bytes. The router supports HEAD for every GET route. */
function headOperation(route: Route, path: string): ZodOpenApiOperationObject {
  return {
    ...operation(route, path),
    operationId: operationId('head', path),
    responses: { ...headResponses(route.summary), ...failures(route) },
  };
}

/** Returns the alternative ways to authenticate. */
function security(access: Access): Record<string, string[]>[] {
  if (access === 'public') return [];
  if (access === 'internal') return [{ internalKey: [] }];
  const bearer = { bearer: [...(access.scopes ?? [])] };
  const reauthenticated = { ...bearer, reauth: [] };
  return [
    access.reauth === true ? reauthenticated : bearer,
    ...(access.freshProof === undefined ? [] : [reauthenticated]),
    ...(access.orRecovery === true ? [{ bearer: [recoveryScope] }] : []),
    ...(access.orInternal === true ? [{ internalKey: [] }] : []),
  ];
}

function operationId(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return [method, ...(words.length === 0 ? ['root'] : words)]
    .map((word, index) => (index === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
    .join('');
}

function requestBody(route: Route): Pick<ZodOpenApiOperationObject, 'requestBody'> {
  const description = `At most ${route.maxBodyBytes} bytes.`;
  if (route.streamsBody === true) {
    return { requestBody: { description, required: true, content: octets } };
  }
  if (route.streamsForm !== undefined) {
    const content = { 'multipart/form-data': { schema: route.streamsForm } };
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

function success(route: Route) {
  const description = route.summary;
  if (route.response === StreamedAnswer) return streamedResponses(description);
  if (route.response === EventStream) return eventResponses(description);
  const content =
    route.response === undefined
      ? {}
      : { content: { 'application/json': { schema: route.response } } };
  // The whole of a streamed text may be longer than a chunk, which `maxAnswerBytes` bounds.
  const isBounded = route.maxAnswerBytes !== undefined && !(route.response instanceof z.ZodCustom);
  const bounded = isBounded
    ? `${description}. At most ${route.maxAnswerBytes} bytes.`
    : description;
  return { [String(route.status)]: { description: bounded, ...answerHeaders(route), ...content } };
}

/** Returns the error codes of the guards. */
function accessCodes(access: Access): ErrorCode[] {
  if (access === 'public') return [];
  if (access === 'internal') return ['invalid_api_key', 'access_denied'];
  return [
    ...tokenCodes,
    ...(access.withoutTenant === undefined ? [] : [access.withoutTenant]),
    ...(access.reauth === true || access.freshProof !== undefined ? reauthCodes : []),
    ...(access.orInternal === true ? (['invalid_api_key'] as const) : []),
  ];
}

const reauthCodes = [
  'reauth_required',
  'reauth_expired',
  'reauth_invalid',
] as const satisfies readonly ErrorCode[];

const tokenCodes = [
  'invalid_token',
  'token_expired',
  'invalid_issuer',
  'invalid_audience',
  'access_denied',
  'jwks_unavailable',
] as const satisfies readonly ErrorCode[];

/** Describes the error codes by status: the route's own, and those of guards and validation. */
function failures(route: Route) {
  const codes = new Set<ErrorCode>(route.errors);
  const hasInput = (route.params ?? route.query ?? route.body) !== undefined;
  if (hasInput) codes.add('validation_failed');
  if (route.body !== undefined) {
    for (const code of ['invalid_json', 'body_too_large', 'unsupported_media_type'] as const) {
      codes.add(code);
    }
  }
  if (route.idempotent === true) {
    codes.add('idempotency_key_reused').add('idempotency_in_progress');
  }
  if (route.audit !== undefined) codes.add('clock_skew');
  for (const code of accessCodes(route.access)) codes.add(code);
  const forbidden = new Set(route.forbids);
  const byStatus = Map.groupBy([...codes, ...forbidden], (code) =>
    forbidden.has(code) ? 403 : describeError(code).status,
  );
  return Object.fromEntries(
    [...byStatus].map(([status, statusCodes]) => [
      String(status),
      {
        description: statusCodes
          .map((code) => `\`${code}\`: ${describeError(code).message}`)
          .join('\n\n'),
        content: { 'application/json': { schema: ErrorBody } },
      },
    ]),
  );
}
