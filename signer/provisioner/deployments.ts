import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { AskApiServer } from './api-server.ts';

const pollMs = 2_000;

/** The annotation of the pods that names the token with which they were started. */
export const tokenAnnotation = 'probatio.dev/token';

const Count = z.int().min(0).default(0);
const Deployment = z.object({
  metadata: z.object({ generation: z.int() }),
  spec: z.object({ replicas: z.int().min(0).default(1) }),
  status: z
    .object({
      observedGeneration: Count,
      replicas: Count,
      updatedReplicas: Count,
      availableReplicas: Count,
    })
    .default({ observedGeneration: 0, replicas: 0, updatedReplicas: 0, availableReplicas: 0 }),
});

export type Deployments = ReturnType<typeof createDeployments>;

interface DeploymentsOptions {
  readonly ask: AskApiServer;
  readonly namespace: string;
}

/** Creates the access to the Deployments of a namespace. */
export function createDeployments({ ask, namespace }: DeploymentsOptions) {
  const pathOf = (name: string) => `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`;

  return {
    /**
     * Replaces the pods of a Deployment by its own strategy, unless they were started with this
     * token. Resolves once all pods are new and ready.
     */
    async restart(name: string, token: string): Promise<void> {
      const annotations = { [tokenAnnotation]: token };
      const body = { spec: { template: { metadata: { annotations } } } };
      await ask(pathOf(name), { method: 'PATCH', body });
      while (!isRolledOut(await ask(pathOf(name)))) await delay(pollMs);
    },
  };
}

/** Tells whether every pod is of the newest template and available. */
function isRolledOut(answer: unknown): boolean {
  const { metadata, spec, status } = Deployment.parse(answer);
  return (
    status.observedGeneration >= metadata.generation &&
    status.updatedReplicas === spec.replicas &&
    status.replicas === spec.replicas &&
    status.availableReplicas === spec.replicas
  );
}
