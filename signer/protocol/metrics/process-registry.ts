import { collectDefaultMetrics, Registry } from 'prom-client';

/** Creates a registry with the metrics of this process and of Node. */
export function createProcessRegistry(): Registry {
  const registry = new Registry();
  // A look at the event loop every 10 ms, the default, is most of what an idle process does.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  return registry;
}
