import { SpanKind } from '@opentelemetry/api';
import type { TracedCall } from '../ipc/messages.ts';
import { failSpan, tracer } from '../protocol/tracing/spans.ts';

/** Records PKCS#11 calls that the HSM process made as spans below the current one. */
export function recordCalls(calls: readonly TracedCall[]): void {
  for (const [fn, startedAt, endedAt, returnValue] of calls) {
    const attributes = { 'pkcs11.function': fn, 'pkcs11.return_value': returnValue };
    const span = tracer.startSpan(fn, { kind: SpanKind.CLIENT, startTime: startedAt, attributes });
    if (returnValue !== 'CKR_OK') failSpan(span, Object.assign(new Error(), { code: returnValue }));
    span.end(endedAt);
  }
}
