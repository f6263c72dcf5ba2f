import { SpanKind } from '@opentelemetry/api';
import { failSpan, isRecording, tracer } from '../../../signer/protocol/tracing/spans.ts';

/** Characters of a statement that a span shows. */
const shownChars = 1_000;
const target = /\b(?:from|into|update|join)\s+"?([a-z_]+)"?/;
/** Statements that begin or end a transaction: they set the owner by literal values. */
const unshown: ReadonlySet<string> = new Set(['BEGIN', 'COMMIT', 'ROLLBACK', 'SET']);

/**
 * Begins the span of a statement and returns the function that ends it, with the error if there is
 * one. The span shows the text, whose values are parameters and stay out. Does nothing outside of a
 * trace.
 */
export function startStatementSpan(text: string): (error?: unknown) => void {
  if (!isRecording()) return () => undefined;
  const operation = operationOf(text) ?? '_OTHER';
  const isShown = !unshown.has(operation);
  const table = isShown ? target.exec(text)?.[1] : undefined;
  const span = tracer.startSpan(table === undefined ? operation : `${operation} ${table}`, {
    kind: SpanKind.CLIENT,
    attributes: {
      'db.system.name': 'postgresql',
      'db.operation.name': operation,
      ...(isShown ? { 'db.query.text': text.slice(0, shownChars) } : {}),
    },
  });
  return (error) => {
    if (error !== undefined) failSpan(span, error);
    span.end();
  };
}

/** Returns the first keyword of a statement. `select; commit` counts as the commit that it is. */
export function operationOf(text: string): string | undefined {
  if (text.startsWith('select; commit')) return 'COMMIT';
  return /^\s*([a-z]+)/i.exec(text)?.[1]?.toUpperCase();
}
