import { Registry } from 'prom-client';
import type { Activity } from '../ipc/messages.ts';
import type { MetricDescription } from '../protocol/metrics/description.ts';
import { createMeter, type Meter } from '../protocol/metrics/meter.ts';
import { EntryFault, SigningPurpose, TokenState } from '../protocol/protocol.ts';
import { operations, returnValues } from './pkcs11-names.ts';

/** The types of tokens that the signer signs. */
const tokenTypes: readonly string[] = ['at+jwt', 'reauth+jwt'];

export type Metrics = ReturnType<typeof createMetrics>;

interface MetricsOptions {
  readonly meter: Meter;
  readonly sessionsMax: number;
  readonly readState: () => TokenState;
}

/** Creates the signer's metrics. */
export function createMetrics({ meter, sessionsMax, readState }: MetricsOptions) {
  const record = measureHsm(meter, sessionsMax);
  meter
    .gauge({
      name: 'signer_token_state',
      help: '1 for the present state of the PKCS#11 token, 0 for the others',
      labels: { state: { values: TokenState.options } },
    })
    .readWith(() => {
      const now = readState();
      return TokenState.options.map((state) => [{ state }, state === now ? 1 : 0] as const);
    });

  return {
    registry: meter.registry,
    record,
    processEnds: meter.counter({
      name: 'signer_hsm_process_ends_total',
      help: 'HSM processes that died, or were killed because they did not respond',
      labels: {},
    }),
    sealed: meter.counter({
      name: 'signer_entries_sealed_total',
      help: 'Entries hashed, signed and verified',
      labels: {},
    }),
    refusedEntries: meter.counter({
      name: 'signer_entries_refused_total',
      help: 'Texts refused because they are no valid audit entry',
      labels: { fault: { values: EntryFault.options } },
    }),
    tokensSigned: meter.counter({
      name: 'signer_tokens_signed_total',
      help: 'Tokens signed and verified',
      labels: { typ: { values: tokenTypes } },
    }),
    tokensRefused: meter.counter({
      name: 'signer_tokens_refused_total',
      help: 'Tokens that were not signed because of a limit a second',
      labels: { limit: { values: ['user', 'all'] } },
    }),
    unverified: meter.counter({
      name: 'signer_signatures_unverified_total',
      help: 'Requests that failed because a signature of the HSM did not verify in software',
      labels: { purpose: { values: SigningPurpose.options } },
    }),
  };
}

/** Describes every metric, for docs/metrics.md. */
export function listMetrics(): readonly MetricDescription[] {
  const meter = createMeter(new Registry());
  createMetrics({ meter, sessionsMax: 1, readState: () => 'stopped' });
  return meter.descriptions;
}

/**
 * Creates the metrics of the HSM. Returns the function that records the PKCS#11 calls that the HSM
 * process made since its last report.
 */
function measureHsm(meter: Meter, sessionsMax: number) {
  const sessions = {
    name: 'signer_sessions_max',
    help: 'Size of the PKCS#11 session pool',
    labels: {},
  };
  meter.gauge(sessions).set({}, sessionsMax);
  const sessionsInUse = meter.gauge({
    name: 'signer_sessions_in_use',
    help: 'PKCS#11 sessions in use',
    labels: {},
  });
  const queued = meter.gauge({
    name: 'signer_queued_operations',
    help: 'Operations that wait for a session',
    labels: {},
  });
  const duration = meter.histogram({
    name: 'signer_pkcs11_operation_duration_seconds',
    help: 'Duration of PKCS#11 calls',
    labels: { operation: { values: operations } },
    buckets: [0.00005, 0.0002, 0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
  });
  const errors = meter.counter({
    name: 'signer_pkcs11_errors_total',
    help: 'PKCS#11 calls that returned anything but CKR_OK',
    labels: {
      operation: { values: operations },
      return_value: {
        values: returnValues,
        description: 'the name of the return value, such as `CKR_DEVICE_REMOVED`',
      },
    },
  });
  return (activity: Activity): void => {
    sessionsInUse.set({}, activity.sessionsInUse);
    queued.set({}, activity.queueDepth);
    for (const [operation, seconds, returnValue] of activity.calls) {
      duration.observe({ operation }, seconds);
      if (returnValue !== 'CKR_OK') errors.add({ operation, return_value: returnValue });
    }
  };
}
