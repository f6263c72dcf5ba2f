import { CoreV1Api, type KubeConfig } from '@kubernetes/client-node';
import type { EventNote } from '../conditions/set-conditions.ts';
import { connect } from './connection.ts';
import { fieldManager, type CustomResource } from './resources.ts';

export type RecordEvent = ReturnType<typeof createEventRecorder>;

interface EventsOptions {
  readonly kubeConfig: KubeConfig;
  readonly namespace: string;
  /** The name of this process's pod. */
  readonly identity: string;
  readonly clock: () => Date;
}

/** Creates the function that records an Event of a resource, which `kubectl describe` shows. */
export function createEventRecorder({ kubeConfig, namespace, identity, clock }: EventsOptions) {
  const core = connect(kubeConfig, CoreV1Api);
  return async (resource: CustomResource, { type, reason, message }: EventNote): Promise<void> => {
    const { apiVersion, kind, metadata } = resource;
    const now = clock();
    await core.createNamespacedEvent({
      namespace,
      body: {
        metadata: { generateName: `${metadata.name}.` },
        involvedObject: { apiVersion, kind, namespace, name: metadata.name, uid: metadata.uid },
        type,
        reason,
        message: message.slice(0, 1_024),
        source: { component: fieldManager, host: identity },
        firstTimestamp: now,
        lastTimestamp: now,
        count: 1,
      },
    });
  };
}
