import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Database, Tx } from '../db/database.ts';
import { endWithRight } from '../documents/downloads/reading-right.ts';
import { AppError } from '../errors/app-error.ts';
import { findExport } from '../evidence-exports/rows/export-rows.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { Revocations } from '../sessions/revocations.ts';
import type { ByteRange, ObjectStore } from '../storage/interface/object-store.ts';
import type { Log } from '../telemetry/log.ts';
import { findJob, readerOf } from './rows/job-rows.ts';

interface JobExportsOptions {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly revocations: Revocations;
  readonly log: Log;
}

export type JobExports = ReturnType<typeof createJobExports>;

/** Creates the service that sends the archives of evidence exports. */
export function createJobExports({ db, store, revocations, log }: JobExportsOptions) {
  async function find(caller: Caller, jobId: string) {
    const job = await findJob(db, caller, jobId);
    if (job.type !== 'EVIDENCE_EXPORT' || job.state !== 'COMPLETED')
      throw new AppError('not_found');
    const findIt = (tx: Tx) => findExport(tx, jobId);
    const isOperator = readerOf(caller).reach !== undefined;
    const found = await (isOperator ? db.asService(findIt) : db.asUser(caller, findIt));
    if (found === undefined) throw new AppError('export_expired');
    return found;
  }

  async function assertMayRead(caller: Caller, jobId: string): Promise<void> {
    if (await revocations.isRevoked(caller.sessionId)) throw new AppError('invalid_token');
    await find(caller, jobId);
  }

  return {
    /**
     * Returns the archive of a job that the caller may see. Throws export_expired, and not_found,
     * also if the job writes no archive or has not written it.
     */
    async find({ caller }: ServiceRequest, jobId: string) {
      const { document_id: documentId, size, hash, ...stored } = await find(caller, jobId);
      return {
        fileName: `evidence-${documentId}.zip`,
        size,
        hash,
        /**
         * Opens the archive, and resolves once the first bytes have arrived. The stream fails
         * within seconds after the caller loses the right to read it. Throws StorageError or the
         * reason of `signal`.
         */
        async open(range: ByteRange | undefined, signal: AbortSignal): Promise<Readable> {
          const { storage_key: key, object_version: ifVersion } = stored;
          const { body } = await store.get(key, { range, ifVersion, signal });
          await once(body, 'readable');
          endWithRight(body, () => assertMayRead(caller, jobId), log);
          return body;
        },
      };
    },
  };
}
