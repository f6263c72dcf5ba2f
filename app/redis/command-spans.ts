import { tracingChannel } from 'node:diagnostics_channel';
import { SpanKind, type Span } from '@opentelemetry/api';
import { failSpan, isRecording, tracer } from '../../signer/protocol/tracing/spans.ts';

/** A command as ioredis tells of it, on the channel that it documents. */
interface Command {
  readonly command: string;
  readonly error?: unknown;
}

/**
 * Records the commands of all Redis clients of this process as spans, by their names: keys and
 * values are left out. Commands outside of a trace are not recorded.
 */
export function recordCommands(): void {
  const spans = new WeakMap<Command, Span>();
  tracingChannel<string, Command>('ioredis:command').subscribe({
    start(command) {
      if (isRecording()) spans.set(command, startSpan(command));
    },
    error(command) {
      const span = spans.get(command);
      if (span !== undefined) failSpan(span, command.error);
    },
    asyncEnd(command) {
      spans.get(command)?.end();
    },
    end: () => undefined,
    asyncStart: () => undefined,
  });
}

function startSpan({ command }: Command): Span {
  const operation = command.toUpperCase();
  const attributes = { 'db.system.name': 'redis', 'db.operation.name': operation };
  return tracer.startSpan(operation, { kind: SpanKind.CLIENT, attributes });
}
