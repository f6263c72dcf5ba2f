import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Activity } from '../ipc/messages.ts';
import { TokenState } from '../protocol/protocol.ts';

export type Metrics = ReturnType<typeof createMetrics>;

interface MetricsOptions {
  readonly sessionsMax: number;
  readonly readState: () => TokenState;
}

/** Creates the signer's Prometheus metrics in a registry of their own. */
export function createMetrics({ sessionsMax, readState }: MetricsOptions) {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  gauge('signer_sessions_max', 'Size of the PKCS#11 session pool').set(sessionsMax);
  const sessionsInUse = gauge('signer_sessions_in_use', 'PKCS#11 sessions in use');
  const queueDepth = gauge('signer_queue_depth', 'Operations waiting for a session');
  const operationSeconds = new Histogram({
    name: 'signer_pkcs11_operation_seconds',
    help: 'Duration of PKCS#11 calls',
    labelNames: ['operation'],
    buckets: [0.00005, 0.0002, 0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
    registers,
  });
  const operationErrors = new Counter({
    name: 'signer_pkcs11_errors_total',
    help: 'PKCS#11 calls that returned anything but CKR_OK',
    labelNames: ['operation', 'return_value'],
    registers,
  });
  registry.registerMetric(
    new Gauge({
      name: 'signer_token_state',
      help: '1 for the current state of the PKCS#11 token, 0 for the others',
      labelNames: ['state'],
      registers: [],
      collect() {
        const now = readState();
        for (const state of TokenState.options) this.set({ state }, state === now ? 1 : 0);
      },
    }),
  );

  return {
    registry,

    /** Records the PKCS#11 calls that the HSM process made since its last report. */
    record(activity: Activity): void {
      sessionsInUse.set(activity.sessionsInUse);
      queueDepth.set(activity.queueDepth);
      for (const [operation, seconds, returnValue] of activity.calls) {
        operationSeconds.observe({ operation }, seconds);
        if (returnValue !== 'CKR_OK') operationErrors.inc({ operation, return_value: returnValue });
      }
    },

    processEnds: new Counter({
      name: 'signer_hsm_process_ends_total',
      help: 'HSM processes that died, or were killed because they did not respond',
      registers,
    }),
    sealed: new Counter({
      name: 'signer_entries_sealed_total',
      help: 'Entries hashed, signed and verified',
      registers,
    }),
    refusedEntries: new Counter({
      name: 'signer_entries_refused_total',
      help: 'Texts refused because they are no valid audit entry',
      labelNames: ['fault'],
      registers,
    }),
    tokensSigned: new Counter({
      name: 'signer_tokens_signed_total',
      help: 'Tokens signed and verified',
      labelNames: ['typ'],
      registers,
    }),
    tokensRefused: new Counter({
      name: 'signer_tokens_refused_total',
      help: 'Tokens that were not signed because of a limit a second',
      labelNames: ['limit'],
      registers,
    }),
    unverified: new Counter({
      name: 'signer_signatures_unverified_total',
      help: 'Requests that failed because a signature of the HSM did not verify in software',
      labelNames: ['purpose'],
      registers,
    }),
  };
}
