import { z } from 'zod';
import type { ErrorCode } from '../../errors/error-codes.ts';
import type { Access } from '../requests/caller.ts';
import { EventStream } from '../responses/event-stream.ts';
import { StreamedAnswer } from '../responses/streamed-answer.ts';
import type { Contribution } from '../routing/contribution.ts';
import { replayedHeader } from '../routing/idempotency.ts';
import type { Route } from '../routing/route.ts';
import {
  contentDigest,
  entityTag,
  idempotencyKey,
  ifMatch,
  optionalIfMatch,
  link,
  replayed,
  requestId,
  wholeLength,
} from './headers.ts';
import { accessNote } from './notes.ts';
import { rangeHeaders } from './stream.ts';

/** Returns what every layer around a route adds to its description. */
export function contributionsOf(route: Route): readonly Contribution[] {
  return [
    ofServer(route),
    ofAccess(route.access),
    ofInput(route),
    ofLimits(route),
    ofIdempotency(route),
    ofConditions(route),
    ofPages(route),
    ofAudit(route),
    ...(route.contributions ?? []),
  ];
}

const none: Contribution = {};

/** The server itself, and the middleware that every request passes. */
function ofServer({ isProbe }: Route): Contribution {
  return {
    requestHeaders: { 'X-Request-Id': requestId },
    errors: [
      'invalid_request',
      'request_timeout',
      'headers_too_large',
      'internal_error',
      ...(isProbe === true ? [] : (['busy', 'database_unavailable'] as const)),
    ],
  };
}

function ofAccess(access: Access): Contribution {
  return { errors: accessCodes(access), note: accessNote(access) };
}

function ofInput(route: Route): Contribution {
  const { params, body, streamsBody, streamsForm, ignoresQuery } = route;
  const hasInput = params !== undefined || body !== undefined || ignoresQuery !== true;
  const readsJson: readonly ErrorCode[] =
    body === undefined
      ? []
      : ['invalid_json', 'incomplete_body', 'body_too_large', 'unsupported_media_type'];
  const readsBytes = streamsBody === true || streamsForm !== undefined;
  return {
    ...(streamsBody === true ? { requestHeaders: { 'Content-Digest': contentDigest } } : {}),
    errors: [
      ...(hasInput ? (['validation_failed'] as const) : []),
      ...readsJson,
      ...(readsBytes ? (['incomplete_body'] as const) : []),
    ],
  };
}

function ofLimits({ method, access, addressLimit }: Route): Contribution {
  const isCounted = method !== 'get' && typeof access === 'object';
  if (addressLimit === undefined && !isCounted) return none;
  return { errors: ['rate_limited', 'cache_unavailable'] };
}

function ofIdempotency({ idempotent }: Route): Contribution {
  if (idempotent !== true) return none;
  return {
    requestHeaders: { 'Idempotency-Key': idempotencyKey },
    answerHeaders: { [replayedHeader]: replayed },
    errors: ['idempotency_key_reused', 'idempotency_in_progress'],
  };
}

function ofConditions(route: Route): Contribution {
  if (route.response === StreamedAnswer) {
    const refusal = { 'Content-Range': wholeLength };
    return { requestHeaders: rangeHeaders, errorHeaders: { range_not_satisfiable: refusal } };
  }
  const takesIfMatch = route.errors.includes('precondition_failed');
  const isRequired = route.errors.includes('precondition_required');
  const condition = isRequired ? ifMatch : optionalIfMatch;
  return {
    ...(takesIfMatch ? { requestHeaders: { 'If-Match': condition } } : {}),
    ...(route.hasETag === true ? { answerHeaders: { ETag: entityTag } } : {}),
  };
}

function ofPages({ query, response }: Route): Contribution {
  const isPaged = query instanceof z.ZodObject && 'cursor' in query.shape;
  return isPaged && response !== EventStream ? { answerHeaders: { Link: link } } : none;
}

function ofAudit({ audit }: Route): Contribution {
  if (audit === undefined || audit.actions.length === 0) return none;
  const actions = audit.actions.map((action) => `\`${action}\``).join(', ');
  return { errors: ['clock_skew'], note: `Audit entries: ${actions}.` };
}

/** Returns the error codes of the guards. */
function accessCodes(access: Access): ErrorCode[] {
  if (access === 'public') return [];
  if (access === 'internal') return ['invalid_api_key', 'access_denied', 'not_found'];
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
