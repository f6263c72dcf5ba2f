import type { Registry } from 'prom-client';
import { createMeter, type Meter } from '../../../signer/protocol/metrics/meter.ts';
import { about } from '../about.ts';
import { createAccessMetrics } from './access.ts';
import { createAuditMetrics } from './audit.ts';
import { createProviderMetrics, createSignerMetrics } from './calls.ts';
import { createDatabaseMetrics } from './database.ts';
import { createHttpMetrics } from './http.ts';
import { createReadingMetrics } from './readings.ts';
import { createStreamMetrics } from './streams.ts';
import { createTransferMetrics } from './transfers.ts';

export type Metrics = ReturnType<typeof createMetrics>;

interface MetricsOptions {
  readonly registry: Registry;
  /** The templates of the paths of all routes. */
  readonly routes: readonly string[];
}

/** Creates the metrics of the app in a registry, a group a subject. */
export function createMetrics({ registry, routes }: MetricsOptions) {
  const own = createMeter(registry);
  const read = createMeter(registry);
  nameBuild(own);
  return {
    registry,
    http: createHttpMetrics(own, routes),
    access: createAccessMetrics(own),
    transfers: createTransferMetrics(own),
    streams: createStreamMetrics(own),
    audit: createAuditMetrics(own),
    database: createDatabaseMetrics(own),
    signerCalled: createSignerMetrics(own),
    timeProvider: createProviderMetrics(own),
    readings: createReadingMetrics({ own, read }),
    /** The metrics of what this process does, and those that are read from the database. */
    descriptions: { own: own.descriptions, read: read.descriptions },
  };
}

function nameBuild(meter: Meter): void {
  const build = meter.gauge({
    name: 'probatio_build_info',
    help: '1 for the version of this process',
    labels: { version: { values: [about.version], description: 'the version' } },
  });
  build.set({ version: about.version }, 1);
}
