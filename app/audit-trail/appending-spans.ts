import { trace, TraceFlags, type Link } from '@opentelemetry/api';

/** Entries whose spans are kept; the spans of earlier ones are forgotten. */
const mostKept = 10_000;

export type AppendingSpans = ReturnType<typeof createAppendingSpans>;

/**
 * Remembers in which span of this process an entry was appended, until its batch is signed, so that
 * the trace of the batch can be linked with those of the requests that wait for it.
 */
export function createAppendingSpans() {
  const links = new Map<string, Link>();
  return {
    /** Remembers the current span, if it is sampled. */
    note(entryId: string): void {
      const context = trace.getActiveSpan()?.spanContext();
      if (context === undefined || (context.traceFlags & TraceFlags.SAMPLED) === 0) return;
      links.set(entryId, { context });
      const [first] = links.keys();
      if (links.size > mostKept && first !== undefined) links.delete(first);
    },

    /** Forgets the spans in which these entries were appended, and returns links to them. */
    take(entryIds: readonly string[]): Link[] {
      return entryIds.flatMap((id) => {
        const link = links.get(id);
        links.delete(id);
        return link ?? [];
      });
    },
  };
}
