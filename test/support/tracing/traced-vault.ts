import type { ExecutionContext } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { recordCommands } from '../../../app/redis/command-spans.ts';
import { startTracing } from '../../../signer/protocol/tracing/start-tracing.ts';
import { createLog } from '../../../app/telemetry/log.ts';
import { startOwnSigner } from '../vault/own-signer.ts';
import { startReadyVault, type TestVault } from '../vault/vault.ts';
import { startReceiver, type Receiver } from './receiver.ts';

/** Returns the variables with which a process sends its traces to a receiver, without delay. */
export function tracedTo({ url }: Pick<Receiver, 'url'>): Record<string, string> {
  return { OTEL_BSP_SCHEDULE_DELAY: '20', OTEL_EXPORTER_OTLP_ENDPOINT: url };
}

/** Traces this process to a receiver, once in its life. */
export async function traceThisProcess(t: Pick<ExecutionContext, 'teardown'>): Promise<Receiver> {
  const receiver = await startReceiver();
  Object.assign(process.env, tracedTo(receiver));
  recordCommands();
  const tracing = await startTracing({
    service: 'app',
    version: '0.0.0',
    settings: { endpoint: receiver.url, sampler: 'parentbased_always_on', share: 1 },
    log: createLog('silent'),
  });
  t.teardown(async () => {
    await tracing.stop();
    await receiver[Symbol.asyncDispose]();
  });
  return receiver;
}

interface TracedVault {
  readonly vault: TestVault;
  readonly receiver: Receiver;
}

/** Starts a vault in this process and a signer, both of which send their traces to a receiver. */
export async function startTracedVault(
  t: ExecutionContext,
  settings: NodeJS.ProcessEnv = {},
): Promise<TracedVault> {
  const receiver = await traceThisProcess(t);
  const signer = await startOwnSigner(tracedTo(receiver));
  t.teardown(() => signer[Symbol.asyncDispose]());
  const vault = await startReadyVault({ SIGNER_SOCKET_PATH: signer.socketPath, ...settings });
  t.teardown(() => vault.stop());
  return { vault, receiver };
}

/** Resolves with what the receiver got up to a last request. */
export async function textOfTraces({ baseUrl }: TestVault, receiver: Receiver): Promise<string> {
  const { headers } = await fetch(`${baseUrl}/v1/uploads/config`);
  const last = headers.get('x-request-id');
  await until(
    () => receiver.spans.some(({ attributes }) => attributes['probatio.request_id'] === last),
    { what: 'the span of the last request', timeoutMs: 60_000 },
  );
  return receiver.texts.join('\n');
}
