import type { AuditTrail } from '../../audit-trail/audit-trail.ts';
import { lengthy, type Database, type Tx } from '../../db/database.ts';
import { countDue, findDue } from '../../documents/fixity/check-queue.ts';
import type { CheckedFile, CheckFile } from '../../documents/fixity/file-check.ts';
import { recordChecks, recordUnreadable } from '../../documents/fixity/recorded-checks.ts';
import type { StoredFile } from '../../documents/records/stored-files.ts';
import type { ObjectStore } from '../../storage/interface/object-store.ts';
import { StorageError } from '../../storage/interface/storage-error.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Batch, MaintenanceTask, RunRequest } from './task.ts';

const nothing = { checkedFiles: 0, damagedFiles: 0, unreadableFiles: 0 };

type Verified = typeof nothing;

const batchSize = 100;
/** Milliseconds after which what a batch has found so far is recorded. */
const batchMs = 10_000;

export interface FixitySettings {
  /** Days within which every sealed file is checked once. */
  readonly fixityDays: number;
  /** The most bytes to read in a second. */
  readonly fixityBytesPerSecond: number;
  /** Minutes after which a run begins no other file. */
  readonly fixityMinutes: number;
}

interface VerifyFilesOptions extends FixitySettings {
  readonly db: Database;
  readonly audit: Pick<AuditTrail, 'appendAll'>;
  readonly store: Pick<ObjectStore, 'ping'>;
  readonly checkFile: CheckFile;
  readonly log: Log;
}

/** The results of the checks of a batch. */
interface Findings {
  readonly checked: CheckedFile[];
  readonly unreadable: StoredFile[];
}

/**
 * Creates the task that reads the stored files of sealed versions again, the longest unchecked
 * first, and compares them with the hashes of their uploads. The lock of the task lets one process
 * at a time check files.
 */
export function createVerifyFiles(
  options: VerifyFilesOptions,
): MaintenanceTask<'verify-files', Verified> {
  const { db, audit, store, checkFile, log } = options;
  const due = { days: options.fixityDays };
  const budget = { bytesPerSecond: options.fixityBytesPerSecond };

  /**
   * Adds a file to the findings. A file that cannot be read twice, from a store that answers, is
   * unreadable. Throws StorageError if the store does not answer.
   */
  async function check(file: StoredFile, { checked, unreadable }: Findings): Promise<void> {
    for (const isLast of [false, true]) {
      try {
        checked.push({ file, finding: await checkFile(file, budget) });
        return;
      } catch (error) {
        if (!(error instanceof StorageError)) throw error;
        await store.ping();
        const { document_id: documentId, version } = file;
        log.warn({ err: error, documentId, version }, 'a stored file could not be read');
      }
      if (isLast) unreadable.push(file);
    }
  }

  /** Adds files to the findings until the batch has lasted long enough. Throws as `check` does. */
  async function checkAll(
    files: readonly StoredFile[],
    findings: Findings,
    endsAt: number,
  ): Promise<void> {
    const until = Math.min(endsAt, performance.now() + batchMs);
    for (const file of files) {
      await check(file, findings);
      if (performance.now() >= until) return;
    }
  }

  async function record(
    tx: Tx,
    checked: readonly CheckedFile[],
    { caller, requestId }: RunRequest,
  ): Promise<Partial<Verified>> {
    const cause = { requestedBy: caller.internalKey, requestId };
    const { count, events } = await recordChecks(tx, checked, { cause, log });
    audit.appendAll(tx, events);
    return { checkedFiles: count, damagedFiles: events.length };
  }

  async function* verify(request: RunRequest): AsyncGenerator<Batch<Verified>> {
    const endsAt = performance.now() + options.fixityMinutes * 60_000;
    do {
      const files = await db.asService((tx) => findDue(tx, { ...due, limit: batchSize }), lengthy);
      if (files.length === 0) return;
      const findings: Findings = { checked: [], unreadable: [] };
      const { checked, unreadable } = findings;
      const failure = await checkAll(files, findings, endsAt).then(
        () => undefined,
        (error: unknown) => ({ error }),
      );
      // Results from before a failure are recorded, so that no later run repeats the checks.
      if (checked.length > 0) yield (tx) => record(tx, checked, request);
      if (unreadable.length > 0) {
        yield async (tx) => ({ unreadableFiles: await recordUnreadable(tx, unreadable) });
      }
      if (failure !== undefined) throw failure.error;
    } while (performance.now() < endsAt);
  }

  return {
    name: 'verify-files',
    nothing,
    async *batches(request, { dryRun }) {
      if (dryRun) yield async (tx) => ({ checkedFiles: await countDue(tx, due) });
      else yield* verify(request);
    },
  };
}
