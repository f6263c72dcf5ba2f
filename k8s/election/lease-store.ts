import {
  CoordinationV1Api,
  V1MicroTime,
  type KubeConfig,
  type V1Lease,
} from '@kubernetes/client-node';
import { connect, isRefusal } from '../cluster/connection.ts';

/** A Lease as the election sees it. */
export interface LeaseRecord {
  /** Changes whenever anybody writes the Lease. */
  readonly version: string;
  /** The identity of the leader; empty if it has resigned. */
  readonly holder: string;
  readonly durationSeconds: number;
}

/** The Lease of an election, in the API server or in a test. */
export interface LeaseStore {
  /** Resolves with undefined if there is no Lease. */
  read(): Promise<LeaseRecord | undefined>;
  /**
   * Writes the holder if the Lease still has this version, or makes it if `version` is undefined.
   * Resolves with false if somebody else was faster.
   */
  write(holder: string, version: string | undefined): Promise<boolean>;
}

interface LeaseStoreOptions {
  readonly kubeConfig: KubeConfig;
  readonly namespace: string;
  readonly name: string;
  readonly durationSeconds: number;
  readonly clock: () => Date;
}

export function createLeaseStore(options: LeaseStoreOptions): LeaseStore {
  const { kubeConfig, namespace, name, durationSeconds, clock } = options;
  const api = connect(kubeConfig, CoordinationV1Api);
  let last: V1Lease | undefined;

  return {
    async read() {
      try {
        last = await api.readNamespacedLease({ namespace, name });
      } catch (error) {
        if (!isRefusal(error, 404)) throw error;
        last = undefined;
        return undefined;
      }
      const { metadata, spec } = last;
      return {
        version: metadata?.resourceVersion ?? '',
        holder: spec?.holderIdentity ?? '',
        durationSeconds: spec?.leaseDurationSeconds ?? durationSeconds,
      };
    },

    async write(holder, version) {
      const now = new V1MicroTime(clock());
      const before = version === undefined ? undefined : last?.spec;
      const isSame = before?.holderIdentity === holder;
      const body: V1Lease = {
        metadata: { name, ...(version === undefined ? {} : { resourceVersion: version }) },
        spec: {
          holderIdentity: holder,
          leaseDurationSeconds: durationSeconds,
          renewTime: now,
          acquireTime: isSame ? (before.acquireTime ?? now) : now,
          leaseTransitions: (before?.leaseTransitions ?? 0) + (isSame ? 0 : 1),
        },
      };
      try {
        if (version === undefined) await api.createNamespacedLease({ namespace, body });
        else await api.replaceNamespacedLease({ namespace, name, body });
        return true;
      } catch (error) {
        if (isRefusal(error, 409) || isRefusal(error, 404)) return false;
        throw error;
      }
    },
  };
}
