import { ExportResultCode } from '@opentelemetry/core';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { TracedProgram } from './traced-program.ts';

/** Logs one line when an exporter begins to fail, and one when it works again. */
export function reportOnce(exporter: SpanExporter, log: TracedProgram['log']): SpanExporter {
  let isFailing = false;
  return {
    export(spans, tell) {
      exporter.export(spans, (result) => {
        const hasFailed = result.code !== ExportResultCode.SUCCESS;
        if (hasFailed && !isFailing) {
          log.warn({ err: result.error }, 'the receiver of traces does not take them');
        }
        if (!hasFailed && isFailing) log.info('the receiver of traces takes them again');
        isFailing = hasFailed;
        tell(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}
