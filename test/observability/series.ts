import { listOperatorMetrics } from '../../k8s/operating/metrics.ts';
import { listMetrics } from '../../signer/metrics/metrics.ts';
import type { MetricDescription } from '../../signer/protocol/metrics/description.ts';
import { newMetrics } from '../support/metrics/new-metrics.ts';

const { own, read } = newMetrics().descriptions;

/** All metrics of the app, the signer and the operator. */
export const metricsOfCode: readonly MetricDescription[] = [
  ...own,
  ...read,
  ...listMetrics(),
  ...listOperatorMetrics(),
];

/** The metrics of the code by the names of their series. */
export const seriesOfCode: ReadonlyMap<string, MetricDescription> = new Map(
  metricsOfCode.flatMap((metric) => namesOf(metric).map((name) => [name, metric] as const)),
);

/** Returns the names of series in a query that can only be the vault's. */
export function namesIn(expr: string): readonly string[] {
  return (
    expr.match(/[a-z0-9_:]*\b(?:http_server|db_client|operator|probatio|signer)_[a-z0-9_:]+/g) ?? []
  );
}

function namesOf({ name, type }: MetricDescription): readonly string[] {
  return type === 'histogram' ? ['_bucket', '_count', '_sum'].map((end) => name + end) : [name];
}
