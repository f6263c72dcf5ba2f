import type { Workloads } from '../cluster/workloads.ts';
import type { Resources } from '../cluster/resources.ts';
import { follow, type Again, type PassOptions } from '../operating/follow.ts';
import type { VaultClient } from '../vault/client.ts';
import { askAny } from '../vault/pods.ts';
import { decide } from './decide.ts';
import type { TaskSchedule } from './observed.ts';

interface MaintenancePassOptions extends PassOptions {
  readonly resources: Pick<Resources, 'applyStatus' | 'listSigningKeys' | 'listMaintenances'>;
  readonly workloads: Workloads;
  readonly vault: Pick<VaultClient, 'readMaintenance'>;
  /** The port of the internal listener of each pod. */
  readonly internalPort: number;
  readonly clock: () => Date;
}

/** Creates the function that brings all VaultMaintenances up to date. */
export function createMaintenancePass(options: MaintenancePassOptions) {
  const { resources, workloads, vault, internalPort, clock } = options;

  async function listSchedules(): Promise<TaskSchedule[]> {
    const found = await workloads.listCronJobs();
    return found.map(({ task, cronJob: { metadata, spec } }) => ({
      task,
      name: metadata?.name ?? '',
      schedule: spec?.schedule ?? '',
      timeZone: spec?.timeZone,
      isSuspended: spec?.suspend ?? false,
      createdAt: metadata?.creationTimestamp ?? new Date(0),
    }));
  }

  return async (): Promise<readonly Again[]> => {
    const found = await resources.listMaintenances();
    if (found.length === 0) return [];
    const [pods, schedules, jobs, keys] = await Promise.all([
      workloads.listPods(),
      listSchedules(),
      workloads.listJobNames(),
      resources.listSigningKeys(),
    ]);
    const state = await askAny(pods, internalPort, vault.readMaintenance);
    const signingKeys = keys.map(({ metadata, status }) => ({
      name: metadata.name,
      nextRotation: status?.nextRotation,
    }));
    const again: Again[] = [];
    for (const resource of found) {
      const observed = {
        now: clock(),
        resource,
        vault: state,
        schedules,
        signingKeys,
        jobs,
      };
      again.push(
        await follow(
          resource,
          decide(observed),
          ({ cronJob, job }) => workloads.runCronJob(cronJob, job),
          options,
        ),
      );
    }
    return again;
  };
}
