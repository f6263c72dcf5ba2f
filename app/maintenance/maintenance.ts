import { readMonthsAway } from '../audit-trail/archived-months.ts';
import type { Clock } from '../async/clock.ts';
import type { Dlq } from '../audit/dlq/dlq.ts';
import type { LogCheck } from '../audit/log-check/log-check.ts';
import type { Database } from '../db/database.ts';
import type { DocumentExpiry } from '../documents/expiry.ts';
import type { RowCipher } from '../encryption/row-cipher.ts';
import { createFileCheck } from '../documents/fixity/file-check.ts';
import type { OldJobs } from '../jobs/operation/old-jobs.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { Admission } from '../restore/admission.ts';
import type { UnfinishedMfa } from '../mfa/unfinished.ts';
import type { ObjectStore } from '../storage/interface/object-store.ts';
import type { ObjectHasher } from '../storage/object-hash.ts';
import type { Log } from '../telemetry/log.ts';
import type { Act } from '../audit-trail/act.ts';
import type { AuditTrail } from '../audit-trail/audit-trail.ts';
import { createUploadExpiry } from '../uploads/cleanup/expiry.ts';
import { createGarbage } from '../uploads/cleanup/garbage.ts';
import { createCollectGarbage } from './tasks/collect-garbage.ts';
import { drainOutbox } from './tasks/drain-outbox.ts';
import { createExpireDocuments } from './tasks/expire-documents.ts';
import { createExpireUploads } from './tasks/expire-uploads.ts';
import { createPurgeJobs } from './tasks/purge-jobs.ts';
import { createReencrypt } from './tasks/reencrypt.ts';
import { createRetryDeadLetters } from './tasks/retry-dead-letters.ts';
import type { RunRecords } from './records/run-records.ts';
import { createRuns } from './runs.ts';
import { createStatus } from './status.ts';
import { createTaskLock } from './task-lock.ts';
import type { RunOptions, RunRequest } from './tasks/task.ts';
import { createVerifyLog } from './tasks/verify-log.ts';
import { createVerifyFiles, type FixitySettings } from './tasks/verify-files.ts';

export type Maintenance = ReturnType<typeof createMaintenance>;

interface MaintenanceOptions extends FixitySettings {
  readonly db: Database;
  readonly act: Act;
  readonly audit: AuditTrail;
  readonly cipher: RowCipher;
  readonly dlq: Dlq;
  readonly logCheck: LogCheck;
  readonly oldJobs: OldJobs;
  readonly outbox: Outbox;
  readonly records: RunRecords;
  readonly store: ObjectStore;
  /** Hashes stored files to check them, apart from those of uploads. */
  readonly checkHasher: ObjectHasher;
  readonly unfinishedMfa: UnfinishedMfa;
  readonly admission: Pick<Admission, 'assertAdmitted'>;
  readonly documentExpiry: DocumentExpiry;
  readonly garbageGraceHours: number;
  /** Days within which the whole audit log is verified once. */
  readonly verifyDays: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly isDraining: () => boolean;
}

/** Creates the tasks that CronJobs run. Each task throws as `run` in runs.ts does. */
export function createMaintenance(options: MaintenanceOptions) {
  const runs = createRuns({ ...options, lock: createTaskLock(options) });
  const expireUploads = createExpireUploads(createUploadExpiry(options));
  const expireDocuments = createExpireDocuments(options.documentExpiry);
  const garbage = createGarbage({ ...options, graceHours: options.garbageGraceHours });
  const collectGarbage = createCollectGarbage({ ...options, garbage });
  const purgeJobs = createPurgeJobs(options.oldJobs);
  const retryDeadLetters = createRetryDeadLetters(options.dlq);
  const reencrypt = createReencrypt(options.cipher);
  const checkFile = createFileCheck(options.checkHasher);
  const verifyFiles = createVerifyFiles({ ...options, checkFile });
  const verifyLog = createVerifyLog(options);
  return {
    expireUploads: (request: RunRequest, query: RunOptions) =>
      runs.run(expireUploads, request, query),

    expireDocuments: (request: RunRequest, query: RunOptions) =>
      runs.run(expireDocuments, request, query),

    collectGarbage: (request: RunRequest, query: RunOptions) =>
      runs.run(collectGarbage, request, query),

    drainOutbox: (request: RunRequest, query: RunOptions) => runs.run(drainOutbox, request, query),

    purgeJobs: (request: RunRequest, query: RunOptions) => runs.run(purgeJobs, request, query),

    retryDeadLetters: (request: RunRequest, query: RunOptions) =>
      runs.run(retryDeadLetters, request, query),

    reencrypt: (request: RunRequest, query: RunOptions) => runs.run(reencrypt, request, query),

    verifyFiles: (request: RunRequest, query: RunOptions) => runs.run(verifyFiles, request, query),

    async verifyLog(request: RunRequest, query: RunOptions) {
      const report = await runs.run(verifyLog, request, query);
      return { ...report, archivedMonths: [...(await options.db.asService(readMonthsAway))] };
    },

    /** Tells how the tasks fare, and what waits to be done. */
    status: createStatus(options),
  };
}
