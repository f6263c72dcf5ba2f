import {
  CustomObjectsApi,
  PatchStrategy,
  setHeaderOptions,
  type KubeConfig,
} from '@kubernetes/client-node';
import { z } from 'zod';
import { group, version } from '../resources/group.ts';
import { SigningKey } from '../resources/signing-key.ts';
import { VaultMaintenance } from '../resources/vault-maintenance.ts';
import { connect, isRefusal } from './connection.ts';

/** The name under which the API server records which members of a status are the operator's. */
export const fieldManager = 'probatio-operator';

export type CustomResource = SigningKey | VaultMaintenance;

const plurals = { SigningKey: 'signingkeys', VaultMaintenance: 'vaultmaintenances' } as const;

/** Returns the path of all resources of a kind in a namespace. */
export function pathOf(kind: CustomResource['kind'], namespace: string): string {
  return `/apis/${group}/${version}/namespaces/${namespace}/${plurals[kind]}`;
}

export type Resources = ReturnType<typeof createResources>;

interface ResourcesOptions {
  readonly kubeConfig: KubeConfig;
  readonly namespace: string;
  /** Called for each resource that is not as its schema says, which is then left alone. */
  readonly onInvalid: (kind: CustomResource['kind'], error: z.ZodError) => void;
}

/** Creates the access to the custom resources of a namespace. */
export function createResources({ kubeConfig, namespace, onInvalid }: ResourcesOptions) {
  const api = connect(kubeConfig, CustomObjectsApi);

  async function list<Schema extends z.ZodType>(
    kind: CustomResource['kind'],
    schema: Schema,
  ): Promise<z.output<Schema>[]> {
    const place = { group, version, namespace, plural: plurals[kind] };
    const answer: unknown = await api.listNamespacedCustomObject(place);
    // The items of a list do not name their kind.
    const { items } = z.object({ items: z.array(z.looseObject({})) }).parse(answer);
    return items.flatMap((item) => {
      const parsed = schema.safeParse({ apiVersion: `${group}/${version}`, ...item, kind });
      if (!parsed.success) onInvalid(kind, parsed.error);
      return parsed.success ? [parsed.data] : [];
    });
  }

  return {
    listSigningKeys: () => list('SigningKey', SigningKey),

    listMaintenances: () => list('VaultMaintenance', VaultMaintenance),

    /**
     * Writes a status by server-side apply. Resolves with false if the resource has changed since
     * it was read or is gone: it must be read again before anything is decided.
     */
    async applyStatus<R extends CustomResource>(
      { apiVersion, kind, metadata: { name, resourceVersion } }: R,
      status: NonNullable<R['status']>,
    ): Promise<boolean> {
      const body = {
        apiVersion,
        kind,
        metadata: { name, namespace, resourceVersion },
        status,
      };
      const place = { group, version, namespace, plural: plurals[kind], name };
      try {
        await api.patchNamespacedCustomObjectStatus(
          { ...place, body, fieldManager, force: true },
          setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply),
        );
        return true;
      } catch (error) {
        if (isRefusal(error, 409) || isRefusal(error, 404)) return false;
        throw error;
      }
    },
  };
}
