import type { Config } from '../config/config.ts';
import { createFileCheck } from '../documents/fixity/file-check.ts';
import { startJobStreams } from '../jobs/events/job-streams.ts';
import { createEvidenceExports } from '../evidence-exports/evidence-exports.ts';
import { createJobExports } from '../jobs/exports.ts';
import { createJobs } from '../jobs/jobs.ts';
import { createOldJobs } from '../jobs/operation/old-jobs.ts';
import { createJobOperation } from '../jobs/operation/operation.ts';
import { openJobQueue } from '../jobs/queue/queue.ts';
import { createDocumentFixity } from '../jobs/types/document-fixity.ts';
import { createEmailValidation } from '../jobs/types/email-validation.ts';
import { createEvidenceExport } from '../jobs/types/evidence-export.ts';
import { startJobWorker } from '../jobs/worker/worker.ts';
import type { RowCipher } from '../encryption/row-cipher.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { createTokenRenewal } from '../registration/token-renewal.ts';
import { valueOf } from '../secrets/secret.ts';
import type { Clock } from '../async/clock.ts';
import type { Log } from '../telemetry/log.ts';
import type { AccessServices } from './access.ts';
import type { AuditServices } from './audit.ts';
import type { Backends } from './backends.ts';

interface JobsOptions extends Backends, Omit<AuditServices, 'stop'>, Omit<AccessServices, 'stop'> {
  readonly cipher: RowCipher;
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly log: Log;
}

/** Starts the services of jobs and, unless this process only serves requests, their worker. */
export function startJobs(config: Config, options: JobsOptions) {
  const { redis } = options;
  const renewal = createTokenRenewal(options);
  const exports = createEvidenceExports({ ...options, ...config.jobs });
  const checkFile = createFileCheck(options.checkHasher);
  const all = [
    createDocumentFixity({ ...options, checkFile }),
    createEmailValidation({ ...options, renewal }),
    createEvidenceExport({ ...options, exports }),
  ];
  const types = new Map(all.map((type) => [type.name, type]));
  // The name of the database tells vaults apart that share a Redis.
  const vault = new URL(valueOf(config.database.serviceUrl)).pathname.slice(1);
  const queue = openJobQueue({ redis, vault, types: [...types.keys()] });
  const streams = startJobStreams(options);
  const worker = config.roles.has('worker')
    ? startJobWorker({ ...options, queue, types })
    : undefined;
  return {
    jobs: createJobs({ ...options, queue, types }),
    jobExports: createJobExports(options),
    jobOperation: createJobOperation({ ...options, queue }),
    jobStreams: streams,
    oldJobs: createOldJobs({ ...options, queue }),
    async stop() {
      await Promise.all([worker?.stop(), streams.stop()]);
      queue.close();
    },
  };
}
