import type { Workloads } from '../cluster/workloads.ts';
import type { Failure } from '../vault/failure.ts';
import type { SigningKeyAction } from './observed.ts';

/** The annotation of the pods that names the generation to make. */
const generationAnnotation = 'probatio.dev/generation';
const runningPauseSeconds = 5;

type Creation = Extract<SigningKeyAction, { readonly kind: 'create' }>;

/**
 * Makes a key by a Job of the chart's CronJob, which also restarts the pods of the vault. Resolves
 * with why the key is not registered yet. The name of the Job is made of the generation and of the
 * attempts that failed before, so that a call may be repeated.
 */
export type RunKeygen = (creation: Creation, failedAttempts: number) => Promise<Failure>;

interface KeygenRunnerOptions {
  readonly workloads: Pick<Workloads, 'findKeygen' | 'findKeygenJob' | 'runCronJob'>;
}

export function createKeygenRunner({ workloads }: KeygenRunnerOptions): RunKeygen {
  const running = { code: 'keygen_running', retryAfterSeconds: runningPauseSeconds };
  return async ({ purpose, generation }, failedAttempts) => {
    const cronJob = await workloads.findKeygen(purpose);
    if (cronJob === undefined) return { code: 'keygen_missing' };
    const job = `${cronJob}-${generation}-${failedAttempts}`;
    const state = await workloads.findKeygenJob(job);
    if (state === 'failed') return { code: 'keygen_failed' };
    // The pods have the key by now, and registered it when they started.
    if (state === 'complete') return { code: 'key_not_registered' };
    if (state === undefined)
      await workloads.runCronJob(cronJob, job, { [generationAnnotation]: String(generation) });
    return running;
  };
}
