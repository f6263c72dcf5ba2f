import type { TracedProgram, Tracing } from './traced-program.ts';

/**
 * Has the spans of this process sent to the receiver of the settings. Without one, loads nothing
 * and does nothing.
 */
export async function startTracing(program: TracedProgram): Promise<Tracing> {
  if (program.settings.endpoint === undefined) return { stop: async () => undefined };
  const { exportSpans } = await import('./export-spans.ts');
  return exportSpans(program);
}
