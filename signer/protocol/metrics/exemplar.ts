import { trace, TraceFlags } from '@opentelemetry/api';

/** The labels of an exemplar, with which a dashboard finds the trace of an observation. */
type ExemplarLabels = Partial<Record<'trace_id' | 'span_id', string>>;

/**
 * Returns the labels of an exemplar for what the current span observes. They are empty, and so
 * there is no exemplar, unless the receiver of traces gets this span.
 */
export function labelExemplar(): ExemplarLabels {
  const span = trace.getActiveSpan()?.spanContext();
  if (span === undefined || (span.traceFlags & TraceFlags.SAMPLED) === 0) return {};
  return { trace_id: span.traceId, span_id: span.spanId };
}
