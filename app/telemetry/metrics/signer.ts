import { signerPaths, type AnsweredCall } from '../../../signer/protocol/client.ts';
import type { Meter } from '../../../signer/protocol/metrics/meter.ts';
import { signerErrorCodes } from '../../../signer/protocol/signer-error.ts';

const results = ['ok', ...signerErrorCodes] as const;
const callSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Creates the metrics of calls of the signer. Returns the function that records one. */
export function createSignerMetrics(meter: Meter) {
  const duration = meter.histogram({
    name: 'probatio_signer_call_duration_seconds',
    help: 'Duration of calls of the signer, over its socket',
    labels: {
      url_template: { values: signerPaths },
      result: {
        values: results,
        description: '`ok`, or the code of the error ([signer.md](signer.md))',
      },
    },
    buckets: callSeconds,
  });
  return ({ path, seconds, code }: AnsweredCall): void =>
    duration.observe({ url_template: path, result: code ?? 'ok' }, seconds);
}
