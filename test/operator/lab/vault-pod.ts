import {
  CoreV1Api,
  PatchStrategy,
  setHeaderOptions,
  type KubeConfig,
} from '@kubernetes/client-node';
import { connect } from '../../../k8s/cluster/connection.ts';
import { namespace } from './api-server.ts';

const labels = { 'app.kubernetes.io/instance': 'vault', 'app.kubernetes.io/component': 'api' };

/** Creates a pod of the vault whose address is loopback, where a served vault listens. */
export async function createVaultPod(admin: KubeConfig): Promise<void> {
  const core = connect(admin, CoreV1Api);
  const containers = [{ name: 'app', image: 'none' }];
  const body = { metadata: { name: 'vault-0', labels }, spec: { containers } };
  await core.createNamespacedPod({ namespace, body });
  const status = { phase: 'Running', podIP: '127.0.0.1', podIPs: [{ ip: '127.0.0.1' }] };
  await core.patchNamespacedPodStatus(
    { namespace, name: 'vault-0', body: { status } },
    setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
  );
}
