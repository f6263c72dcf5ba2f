import {
  SpanStatusCode,
  trace,
  type Context,
  type Span,
  type SpanOptions,
} from '@opentelemetry/api';

/**
 * The tracer of this process. It records nothing, and costs next to nothing, until `startTracing`
 * has set up an exporter.
 */
export const tracer = trace.getTracer('probatio');

/**
 * Runs `work` in a span, which ends as `work` does. The span of a failure has the code of the error
 * but not its message, which may quote a value.
 */
export async function inSpan<T>(
  name: string,
  options: SpanOptions,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  return tracer.startActiveSpan(name, options, (span) => finish(span, work));
}

/** Runs `work` in a span below a span of `parent`, which usually another process has begun. */
export async function inSpanOf<T>(
  parent: Context,
  name: string,
  options: SpanOptions,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  return tracer.startActiveSpan(name, options, parent, (span) => finish(span, work));
}

/** Runs `work` in a span if a span is being recorded already: it never begins a trace. */
export async function inChildSpan<T>(
  name: string,
  options: SpanOptions,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  return isRecording() ? inSpan(name, options, work) : work(undefined);
}

/** Returns whether the current code runs in a span that is recorded. */
export function isRecording(): boolean {
  return trace.getActiveSpan()?.isRecording() === true;
}

/** Marks a span as failed, with the code or the class of the error. */
export function failSpan(span: Span, error: unknown): void {
  span.setAttribute('error.type', typeOf(error)).setStatus({ code: SpanStatusCode.ERROR });
}

async function finish<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await work(span);
  } catch (error) {
    failSpan(span, error);
    throw error;
  } finally {
    span.end();
  }
}

const plainCode = /^[\w.]{1,64}$/;

function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return '_OTHER';
  const { code } = error as { readonly code?: unknown };
  if (typeof code === 'string' && plainCode.test(code)) return code;
  return plainCode.test(error.name) ? error.name : '_OTHER';
}
