import type { IncomingHttpHeaders } from 'node:http';
import {
  propagation,
  ROOT_CONTEXT,
  context,
  trace,
  type Context,
  type SpanContext,
} from '@opentelemetry/api';

/**
 * Reads the span that the sender of a request names in `traceparent`, as W3C Trace Context has it.
 * Returns undefined if the headers name none, or while nothing is traced.
 */
export function readSender({
  traceparent,
  tracestate,
}: IncomingHttpHeaders): { readonly context: Context; readonly span: SpanContext } | undefined {
  if (traceparent === undefined) return undefined;
  const sender = propagation.extract(ROOT_CONTEXT, { traceparent, tracestate });
  const span = trace.getSpanContext(sender);
  return span === undefined ? undefined : { context: sender, span };
}

/** Returns the headers that name the current span to another process; none outside of a span. */
export function senderHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers;
}
