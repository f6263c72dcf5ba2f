import type { ClusterObject } from './kubectl.ts';

/** Describes a Secret with these texts. */
export function secret(name: string, data: Readonly<Record<string, string>>): ClusterObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: data };
}

/** Describes a claim, whose volume is a directory of the one node. */
export function claim(name: string): ClusterObject {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  };
}

interface ConfinedPod {
  readonly user: number;
  readonly group?: number;
  readonly container: ClusterObject;
  readonly volumes: readonly ClusterObject[];
}

/** Describes a pod of one container that passes the Pod Security level `restricted`. */
export function confinedPod({ user, group = user, container, volumes }: ConfinedPod) {
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 1,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: user,
      runAsGroup: group,
      fsGroup: group,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [
      {
        imagePullPolicy: 'Never',
        ...container,
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      },
    ],
    volumes,
  };
}
