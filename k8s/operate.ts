import type { KubeConfig } from '@kubernetes/client-node';
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { readSecretFile } from '../signer/protocol/process/named-file.ts';
import { createEventRecorder } from './cluster/events.ts';
import { createResources, pathOf } from './cluster/resources.ts';
import { watchObjects } from './cluster/watch.ts';
import { createWorkloads } from './cluster/workloads.ts';
import type { Settings } from './config/settings.ts';
import { createElection, leaseSeconds } from './election/election.ts';
import { createLeaseStore } from './election/lease-store.ts';
import { createMaintenancePass } from './maintenance/pass.ts';
import { createLoop } from './operating/loop.ts';
import { createOperatorMetrics } from './operating/metrics.ts';
import { serveProbes } from './operating/probes.ts';
import { createKeygenRunner } from './signing-key/keygen-job.ts';
import { createSigningKeyPass } from './signing-key/pass.ts';
import { createVaultClient } from './vault/client.ts';

/** How long after the last answer of the API server the operator is still ready. */
const readyMs = 60_000;

interface OperateOptions {
  readonly settings: Settings;
  readonly kubeConfig: KubeConfig;
  readonly log: Logger;
  readonly stop: AbortSignal;
}

/** Runs the operator until `stop` aborts. Rejects if it cannot listen for probes. */
export async function operate({ settings, kubeConfig, log, stop }: OperateOptions): Promise<void> {
  const { namespace, identity, selector, internalPort } = settings;
  const clock = () => new Date();
  const monotonic = () => performance.now();
  const store = createLeaseStore({
    kubeConfig,
    namespace,
    name: settings.leaseName,
    durationSeconds: leaseSeconds,
    clock,
  });
  let answeredAt = -readyMs;
  const read = async () => {
    const lease = await store.read();
    answeredAt = monotonic();
    return lease;
  };
  const election = createElection({ store: { ...store, read }, identity, monotonic });
  const registry = new Registry();
  const metrics = createOperatorMetrics(registry, election.isLeader);
  const vault = createVaultClient({
    readKey: () => readKey(settings.keyFile),
    onAnswered: (failure) => metrics.asked(failure?.code),
  });
  const workloads = createWorkloads({ kubeConfig, namespace, selector });
  const options = {
    resources: createResources({
      kubeConfig,
      namespace,
      onInvalid: (kind, error) => log.error({ kind, err: error }, 'a resource is not valid'),
    }),
    workloads,
    recordEvent: createEventRecorder({ kubeConfig, namespace, identity, clock }),
    vault,
    runKeygen: settings.keyCreation === 'job' ? createKeygenRunner({ workloads }) : undefined,
    internalPort,
    isLeader: election.isLeader,
    clock,
    log,
  };
  const passes = [createSigningKeyPass(options), createMaintenancePass(options)];
  const loop = createLoop({ passes, election, clock, onPass: metrics.passed, log, stop });
  const isReady = () => monotonic() - answeredAt < readyMs;
  const probes = await serveProbes({ ...settings.probes, registry, isReady });
  const watch = (path: string, labelSelector?: string) =>
    watchObjects({
      kubeConfig,
      path,
      ...(labelSelector === undefined ? {} : { labelSelector }),
      onChange: loop.wake,
      onEnd(error) {
        metrics.watchFailed();
        log.warn({ err: error, path }, 'a watch ended; it begins anew');
      },
      stop,
    });
  log.info({ namespace, selector, port: probes.port }, 'operating');
  await Promise.all([
    loop.campaign(),
    loop.run(),
    watch(pathOf('SigningKey', namespace)),
    watch(pathOf('VaultMaintenance', namespace)),
    watch(`/api/v1/namespaces/${namespace}/pods`, selector),
  ]);
  probes.close();
}

/** Reads the internal API key, whose file Kubernetes replaces when the Secret changes. */
function readKey(file: string): string {
  const read = readSecretFile(file);
  if ('problem' in read) throw new Error(`INTERNAL_API_KEY_FILE ${read.problem}`);
  return read.secret;
}
