import type { IncomingMessage } from 'node:http';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, type Span } from '@opentelemetry/api';
import { readSender } from '../../../signer/protocol/tracing/carried-context.ts';
import { tracer } from '../../../signer/protocol/tracing/spans.ts';
import type { ProxyTrust } from './client-address.ts';

/** How a request ended, for its span. */
interface Ended {
  /** The template of the path; undefined if no route matched. */
  readonly route: string | undefined;
  readonly status: number | undefined;
  readonly errorCode: string | undefined;
}

const methods: ReadonlySet<string> = new Set([
  'DELETE',
  'GET',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
]);

/**
 * Begins the span of a request. It continues the trace of a trusted proxy, and obeys its flag. Any
 * other sender could have every request recorded, so that its trace is only linked.
 */
export function startRequestSpan(
  request: IncomingMessage,
  trust: Pick<ProxyTrust, 'isProxy'>,
  serverId: string,
): Span {
  const name = methodOf(request);
  const sender = readSender(request.headers);
  const isTrusted = trust.isProxy(request.socket.remoteAddress ?? '');
  const { traceId = '', spanId = '' } = sender?.span ?? {};
  const isLinked = sender !== undefined && !isTrusted;
  return tracer.startSpan(
    name,
    {
      kind: SpanKind.SERVER,
      attributes: { 'http.request.method': name, 'probatio.request_id': serverId },
      links: isLinked ? [{ context: { traceId, spanId, traceFlags: TraceFlags.NONE } }] : [],
    },
    isTrusted ? (sender?.context ?? ROOT_CONTEXT) : ROOT_CONTEXT,
  );
}

/** Ends the span of a request and names it by its route. */
export function endRequestSpan(
  span: Span,
  request: IncomingMessage,
  { route, status, errorCode }: Ended,
): void {
  if (route !== undefined) {
    span.updateName(`${methodOf(request)} ${route}`).setAttribute('http.route', route);
  }
  if (status !== undefined) span.setAttribute('http.response.status_code', status);
  if (errorCode !== undefined) span.setAttribute('error.type', errorCode);
  if (status === undefined || status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

function methodOf({ method = '' }: IncomingMessage): string {
  return methods.has(method) ? method : '_OTHER';
}
