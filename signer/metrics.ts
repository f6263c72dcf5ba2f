import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { TokenState } from './protocol.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** What the gauges show at the moment of a scrape. */
export type Gauges = {
  state: TokenState;
  sessionsInUse: number;
  sessionsMax: number;
  queueDepth: number;
};

/** The signer's Prometheus metrics, in a registry of their own. */
export function createMetrics(readGauges: () => Gauges) {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const gauge = (name: string, help: string, read: (gauges: Gauges) => number) =>
    registry.registerMetric(
      new Gauge({
        name,
        help,
        registers: [],
        collect() {
          this.set(read(readGauges()));
        },
      }),
    );
  gauge('signer_sessions_in_use', 'PKCS#11 sessions at work', (now) => now.sessionsInUse);
  gauge('signer_sessions_max', 'PKCS#11 sessions of the pool', (now) => now.sessionsMax);
  gauge('signer_queue_depth', 'Operations that wait for a session', (now) => now.queueDepth);
  registry.registerMetric(
    new Gauge({
      name: 'signer_token_state',
      help: '1 for the state the PKCS#11 token is in',
      labelNames: ['state'],
      registers: [],
      collect() {
        const now = readGauges();
        for (const state of TokenState.options) this.set({ state }, state === now.state ? 1 : 0);
      },
    }),
  );

  return {
    registry,
    operationSeconds: new Histogram({
      name: 'signer_pkcs11_operation_seconds',
      help: 'Duration of PKCS#11 functions',
      labelNames: ['operation'],
      buckets: [0.00005, 0.0002, 0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
      registers,
    }),
    operationErrors: new Counter({
      name: 'signer_pkcs11_errors_total',
      help: 'PKCS#11 functions that answered other than CKR_OK',
      labelNames: ['operation', 'return_value'],
      registers,
    }),
    sealed: new Counter({
      name: 'signer_entries_sealed_total',
      help: 'Entries hashed, signed and verified',
      registers,
    }),
    refusedEntries: new Counter({
      name: 'signer_entries_refused_total',
      help: 'Texts that are no audit entry',
      labelNames: ['fault'],
      registers,
    }),
    tokensSigned: new Counter({
      name: 'signer_tokens_signed_total',
      help: 'Tokens signed and verified',
      labelNames: ['typ'],
      registers,
    }),
    unverified: new Counter({
      name: 'signer_signatures_unverified_total',
      help: 'Signatures of the HSM that did not verify in software',
      labelNames: ['purpose'],
      registers,
    }),
  };
}
