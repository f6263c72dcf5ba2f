import { isSpanContextValid, trace } from '@opentelemetry/api';
import { pino, type DestinationStream, type Logger } from 'pino';
import { openStandardOutput } from './line-sink.ts';

export type Log = Logger;

export interface LogOptions {
  /** The name of the process in each line. */
  readonly service: string;
  readonly version: string;
  readonly level: string;
  /** Paths of values that are replaced by `[redacted]`. */
  readonly redacted?: readonly string[];
  /** Where the lines go; standard output by default. */
  readonly destination?: DestinationStream | undefined;
}

/**
 * Creates a log of JSON objects, one per line, with the members `level`, `time`, `service`,
 * `version` and `msg`, and within a trace `trace_id` and `span_id`. A line on standard output never
 * makes the process wait: it is dropped if nobody takes it, and the next line tells how many were.
 */
export function createServiceLog(options: LogOptions): Log {
  const { service, version, level, redacted = [], destination } = options;
  const log: Log = pino(
    {
      level,
      base: { service, version },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      redact: { paths: [...redacted], censor: '[redacted]' },
      mixin: namesOfSpan,
    },
    destination ??
      openStandardOutput({
        afterDrop: (dropped) => log.error({ dropped }, 'log lines were dropped: nobody took them'),
      }),
  );
  return log;
}

/** Returns the ids of the current span, so that a line can be found from its trace and back. */
function namesOfSpan(): object {
  const span = trace.getActiveSpan()?.spanContext();
  if (span === undefined || !isSpanContextValid(span)) return {};
  return { trace_id: span.traceId, span_id: span.spanId };
}

/** Serializes type, message, stack and code only: libraries attach commands and rows to errors. */
function describeError(error: unknown) {
  if (!(error instanceof Error)) return { message: 'a value that is not an Error was thrown' };
  const { type, message, stack } = pino.stdSerializers.err(error);
  const { code } = error as { code?: unknown };
  return { type, message, stack, ...(typeof code === 'string' ? { code } : {}) };
}
