import { Registry } from 'prom-client';
import type { MetricDescription } from '../../signer/protocol/metrics/description.ts';
import { createMeter } from '../../signer/protocol/metrics/meter.ts';

export type OperatorMetrics = ReturnType<typeof createOperatorMetrics>;

/** Creates the metrics of the operator. */
export function createOperatorMetrics(registry: Registry, isLeader: () => boolean) {
  const meter = createMeter(registry);
  const passes = meter.counter({
    name: 'operator_passes_total',
    help: 'Passes over all custom resources.',
    labels: { result: { values: ['ok', 'failed'] } },
  });
  const requests = meter.counter({
    name: 'operator_vault_requests_total',
    help: 'Requests to internal routes of pods of the vault.',
    labels: { result: { values: ['ok', 'refused', 'unreachable', 'bad_response'] } },
  });
  const watches = meter.counter({
    name: 'operator_watch_failures_total',
    help: 'Watches of Kubernetes objects that ended with an error.',
    labels: {},
  });
  const leader = meter.gauge({
    name: 'operator_leader',
    help: 'Whether this process leads, 0 or 1.',
    labels: {},
  });
  leader.readWith(() => [[{}, isLeader() ? 1 : 0]]);
  return {
    descriptions: meter.descriptions,
    passed: (result: 'ok' | 'failed') => passes.add({ result }),
    watchFailed: () => watches.add({}),
    /** @param code Undefined after a success. */
    asked(code: string | undefined): void {
      const isOwn = code === 'unreachable' || code === 'bad_response';
      requests.add({ result: code === undefined ? 'ok' : isOwn ? code : 'refused' });
    },
  };
}

/** Describes the metrics of the operator. */
export function listOperatorMetrics(): readonly MetricDescription[] {
  return createOperatorMetrics(new Registry(), () => false).descriptions;
}
