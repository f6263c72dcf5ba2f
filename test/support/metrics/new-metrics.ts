import { Registry } from 'prom-client';
import { createMetrics, type Metrics } from '../../../app/telemetry/metrics/metrics.ts';
import { listTemplates } from '../../../app/wiring/routes.ts';

/** Creates the metrics of one process of the app. */
export function newMetrics(): Metrics {
  return createMetrics({ registry: new Registry(), routes: listTemplates() });
}
