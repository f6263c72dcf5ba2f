import { z } from 'zod';
import type { Bytes } from '../bytes/bytes.ts';
import type { Http } from '../http/http.ts';
import { listPages } from '../http/pages.ts';
import type { RetryPolicy } from '../http/retry.ts';

const routePath = '/v1/jobs';

const Submitted = z.object({ jobId: z.guid(), submittedAt: z.iso.datetime() });

const Retried = Submitted.extend({ originalJobId: z.guid(), retryCount: z.int() });

const Job = z.object({
  jobId: z.guid(),
  type: z.string(),
  status: z.enum(['PENDING', 'ACTIVE', 'COMPLETED', 'FAILED', 'RETRIED']),
  submittedAt: z.iso.datetime(),
  completedAt: z.iso.datetime().nullable(),
  failedAt: z.iso.datetime().nullable(),
  /** The result, which depends on the type; null unless the job is completed. */
  result: z.unknown(),
  /** A code that says why the job failed. */
  error: z.string().nullable(),
  /** Whether a failed job can be retried. */
  retryable: z.boolean().nullable(),
  retryCount: z.int(),
  originalJobId: z.guid().nullable(),
});

export type Job = z.output<typeof Job>;
export type SubmittedJob = z.output<typeof Submitted>;
export type RetriedJob = z.output<typeof Retried>;

/** Work that the vault does on request, after it has responded. */
export interface Jobs {
  /**
   * Submits a job. Throws VaultError 400 for a type or a payload that the vault does not know, 429
   * quota_exceeded if a hundred jobs of the user are not over, or 503 queue_unavailable.
   */
  submit(type: string, payload: object): Promise<SubmittedJob>;
  /** Returns a job. Throws VaultError 404 not_found. */
  get(jobId: string): Promise<Job>;
  /** Lists the user's jobs, newest first. */
  list(options?: { readonly pageSize?: number }): AsyncGenerator<Job, void, void>;
  /**
   * Submits a failed job again, as a new one. Throws VaultError 400 job_not_failed,
   * job_not_retryable or job_retries_used_up.
   */
  retry(jobId: string): Promise<RetriedJob>;
  /**
   * Opens the archive of a completed EVIDENCE_EXPORT, and resolves with its bytes, which can be
   * iterated once. The script in the archive verifies its contents. Throws VaultError 404
   * not_found, or 410 export_expired.
   */
  openExport(
    jobId: string,
    options?: { readonly signal?: AbortSignal },
  ): Promise<AsyncIterable<Bytes>>;
  /**
   * Resolves with a job once it is over, which it finds out every second. Throws the reason of
   * `signal` if it aborts before.
   */
  untilOver(jobId: string, options?: { readonly signal?: AbortSignal }): Promise<Job>;
}

const lookEverySeconds = 1;

interface JobsOptions {
  readonly http: Http;
  readonly retry: Pick<RetryPolicy, 'sleep'>;
}

export function createJobs({ http, retry }: JobsOptions): Jobs {
  const pathOf = (jobId: string) => `${routePath}/${encodeURIComponent(jobId)}`;
  const get = (jobId: string) => http.json(Job, { method: 'GET', path: pathOf(jobId) });
  return {
    submit: (type, payload) =>
      http.json(Submitted, {
        method: 'POST',
        path: routePath,
        idempotencyKey: crypto.randomUUID(),
        json: { type, payload },
      }),
    get,
    list: ({ pageSize } = {}) => listPages(http, Job, routePath, pageSize),
    retry: (jobId) => http.json(Retried, { method: 'POST', path: `${pathOf(jobId)}/retry` }),
    async openExport(jobId, { signal } = {}) {
      const request = { method: 'GET', path: `${pathOf(jobId)}/export`, signal } as const;
      return (await http.open(request)).pieces;
    },
    async untilOver(jobId, { signal } = {}) {
      for (;;) {
        const job = await get(jobId);
        if (job.status !== 'PENDING' && job.status !== 'ACTIVE') return job;
        await retry.sleep(lookEverySeconds, signal);
      }
    },
  };
}
