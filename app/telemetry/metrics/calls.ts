import { signerPaths, type AnsweredCall } from '../../../signer/protocol/client.ts';
import type { Meter } from '../../../signer/protocol/metrics/meter.ts';
import { signerErrorCodes } from '../../../signer/protocol/signer-error.ts';
import type { IdentityProvider } from '../../identity-provider/identity-provider.ts';

const signerResults = ['ok', ...signerErrorCodes] as const;
const callSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Creates the metrics of calls of the signer. Returns the function that records one. */
export function createSignerMetrics(meter: Meter) {
  const duration = meter.histogram({
    name: 'probatio_signer_call_duration_seconds',
    help: 'Duration of calls of the signer, over its socket',
    labels: {
      url_template: { values: signerPaths },
      result: {
        values: signerResults,
        description: '`ok`, or the code of the error ([signer.md](signer.md))',
      },
    },
    buckets: callSeconds,
  });
  return ({ path, seconds, code }: AnsweredCall): void =>
    duration.observe({ url_template: path, result: code ?? 'ok' }, seconds);
}

type ProviderOperation = Exclude<keyof IdentityProvider, 'issuer'>;

const providerOperations = Object.keys({
  findFactors: true,
  putFactors: true,
  removeFactor: true,
  createUser: true,
  findName: true,
  findSubject: true,
  removeUser: true,
  checkPassword: true,
} satisfies Record<ProviderOperation, true>) as ProviderOperation[];

/**
 * Creates the metrics of calls of the identity provider. Returns the function that returns a
 * provider whose calls are recorded.
 */
export function createProviderMetrics(meter: Meter) {
  const duration = meter.histogram({
    name: 'probatio_identity_provider_call_duration_seconds',
    help: 'Duration of calls of the identity provider of MFA, with their repetitions',
    labels: { operation: { values: providerOperations }, result: { values: ['ok', 'error'] } },
    buckets: callSeconds,
  });

  function timed<Args extends readonly unknown[], Result>(
    operation: ProviderOperation,
    call: (...args: Args) => Promise<Result>,
  ) {
    return async (...args: Args): Promise<Result> => {
      const startedAt = performance.now();
      let result: 'ok' | 'error' = 'error';
      try {
        const answer = await call(...args);
        result = 'ok';
        return answer;
      } finally {
        duration.observe({ operation, result }, (performance.now() - startedAt) / 1_000);
      }
    };
  }

  return (provider: IdentityProvider): IdentityProvider => ({
    issuer: provider.issuer,
    findFactors: timed('findFactors', provider.findFactors),
    putFactors: timed('putFactors', provider.putFactors),
    removeFactor: timed('removeFactor', provider.removeFactor),
    createUser: timed('createUser', provider.createUser),
    findName: timed('findName', provider.findName),
    findSubject: timed('findSubject', provider.findSubject),
    removeUser: timed('removeUser', provider.removeUser),
    checkPassword:
      provider.checkPassword === undefined
        ? undefined
        : timed('checkPassword', provider.checkPassword),
  });
}
