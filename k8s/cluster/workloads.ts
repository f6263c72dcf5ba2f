import { BatchV1Api, CoreV1Api, type KubeConfig, type V1CronJob } from '@kubernetes/client-node';
import { connect, isRefusal } from './connection.ts';

/** The label with which the chart names the maintenance task of a CronJob. */
const taskLabel = 'probatio.dev/task';
/** The label with which the chart names the purpose of a CronJob that makes keys. */
const keygenLabel = 'probatio.dev/keygen';

/** A pod of the vault that may hold a token: one with an address that has not ended. */
export interface VaultPod {
  readonly name: string;
  readonly address: string;
  readonly isReady: boolean;
}

export type JobState = 'running' | 'complete' | 'failed';

export type Workloads = ReturnType<typeof createWorkloads>;

interface WorkloadsOptions {
  readonly kubeConfig: KubeConfig;
  readonly namespace: string;
  /** Selects what belongs to the release, such as `app.kubernetes.io/instance=vault`. */
  readonly selector: string;
}

/** Creates the access to the pods, CronJobs and Jobs of a release. */
export function createWorkloads({ kubeConfig, namespace, selector }: WorkloadsOptions) {
  const core = connect(kubeConfig, CoreV1Api);
  const batch = connect(kubeConfig, BatchV1Api);

  return {
    /** Lists the pods of API and workers, by name. */
    async listPods(): Promise<VaultPod[]> {
      const labelSelector = `${selector},app.kubernetes.io/component in (api,worker)`;
      const { items } = await core.listNamespacedPod({ namespace, labelSelector });
      return items
        .flatMap(({ metadata, status }) => {
          const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed';
          const address = status?.podIP ?? '';
          const ready = status?.conditions?.find(({ type }) => type === 'Ready');
          const isReady = ready?.status === 'True';
          const name = metadata?.name ?? '';
          return isOver || address === '' ? [] : [{ name, address, isReady }];
        })
        .toSorted((a, b) => a.name.localeCompare(b.name));
    },

    /** Lists the CronJobs of the maintenance tasks, each with its task. */
    async listCronJobs(): Promise<{ readonly task: string; readonly cronJob: V1CronJob }[]> {
      const labelSelector = `${selector},${taskLabel}`;
      const { items } = await batch.listNamespacedCronJob({ namespace, labelSelector });
      return items.flatMap((cronJob) => {
        const task = cronJob.metadata?.labels?.[taskLabel];
        return task === undefined ? [] : [{ task, cronJob }];
      });
    },

    /** Finds the name of the CronJob that makes the keys of a purpose. */
    async findKeygen(purpose: string): Promise<string | undefined> {
      const labelSelector = `${selector},${keygenLabel}=${purpose}`;
      const { items } = await batch.listNamespacedCronJob({ namespace, labelSelector });
      return items[0]?.metadata?.name;
    },

    /** Finds out how far a Job is that makes a key; undefined if there is none of this name. */
    async findKeygenJob(name: string): Promise<JobState | undefined> {
      const labelSelector = `${selector},${keygenLabel}`;
      const { items } = await batch.listNamespacedJob({ namespace, labelSelector });
      const job = items.find(({ metadata }) => metadata?.name === name);
      if (job === undefined) return undefined;
      const isTrue = (wanted: string) =>
        job.status?.conditions?.some(({ type, status }) => type === wanted && status === 'True');
      if (isTrue('Complete') === true) return 'complete';
      return isTrue('Failed') === true ? 'failed' : 'running';
    },

    async listJobNames(): Promise<ReadonlySet<string>> {
      const labelSelector = `${selector},${taskLabel}`;
      const { items } = await batch.listNamespacedJob({ namespace, labelSelector });
      return new Set(items.map(({ metadata }) => metadata?.name ?? ''));
    },

    /**
     * Makes a Job as a CronJob would, with further annotations of its pods. Does nothing if there
     * is a Job of this name.
     */
    async runCronJob(
      cronJobName: string,
      jobName: string,
      podAnnotations: Readonly<Record<string, string>> = {},
    ): Promise<void> {
      const cronJob = await batch.readNamespacedCronJob({ namespace, name: cronJobName });
      const { metadata, spec } = cronJob.spec?.jobTemplate ?? {};
      if (spec === undefined) throw new Error(`the CronJob ${cronJobName} has no template`);
      const annotations = {
        ...metadata?.annotations,
        'cronjob.kubernetes.io/instantiate': 'manual',
      };
      const labels = { ...metadata?.labels };
      const pod = (spec.template.metadata ??= {});
      pod.annotations = { ...pod.annotations, ...podAnnotations };
      const body = { metadata: { name: jobName, annotations, labels }, spec };
      try {
        await batch.createNamespacedJob({ namespace, body });
      } catch (error) {
        if (!isRefusal(error, 409)) throw error;
      }
    },
  };
}
