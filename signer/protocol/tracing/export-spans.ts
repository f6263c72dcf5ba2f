import { setTimeout as delay } from 'node:timers/promises';
import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { getNumberFromEnv, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { reportOnce } from './reporting-exporter.ts';
import { createSampler } from './sampling.ts';
import type { TracedProgram, Tracing } from './traced-program.ts';

const stopMs = 2_000;

/**
 * Sets up OpenTelemetry for this process. Spans wait in a bounded queue and are dropped beyond it.
 * Only W3C Trace Context is passed on; baggage is not.
 */
export function exportSpans({ service, version, settings, log }: TracedProgram): Tracing {
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': service, 'service.version': version }))
    .merge(detectResources({ detectors: [envDetector] }));
  const processor = new BatchSpanProcessor({
    // The exporter reads its own variables: endpoint, headers, certificates, time limit.
    exporter: reportOnce(new OTLPTraceExporter(), log),
    ...readQueueLimits(),
  });
  const provider = new TracerProvider({
    resource,
    sampler: createSampler(settings.sampler, settings.share),
    spanProcessors: [processor],
    spanLimits: { attributeValueLengthLimit: 2_048 },
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  return {
    async stop() {
      const stopped = provider.shutdown().catch(() => undefined);
      await Promise.race([stopped, delay(stopMs, undefined, { ref: false })]);
    },
  };
}

/** Reads the variables of OpenTelemetry for the queue of spans. */
function readQueueLimits() {
  const limits = {
    maxQueueSize: getNumberFromEnv('OTEL_BSP_MAX_QUEUE_SIZE'),
    maxExportBatchSize: getNumberFromEnv('OTEL_BSP_MAX_EXPORT_BATCH_SIZE'),
    scheduledDelayMillis: getNumberFromEnv('OTEL_BSP_SCHEDULE_DELAY'),
    exportTimeoutMillis: getNumberFromEnv('OTEL_BSP_EXPORT_TIMEOUT'),
  };
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}
