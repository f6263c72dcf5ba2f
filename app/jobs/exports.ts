import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Custody } from '../audit/custody/custody.ts';
import type { Database, Tx } from '../db/database.ts';
import {
  etagFor,
  evaluate,
  isSent,
  type FileRequest,
} from '../documents/downloads/range-request.ts';
import { endWithRight } from '../documents/downloads/reading-right.ts';
import { AppError } from '../errors/app-error.ts';
import { findExport } from '../evidence-exports/rows/export-rows.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { SentBytes } from '../http/requests/sent-bytes.ts';
import type { Revocations } from '../sessions/revocations.ts';
import type { ByteRange, ObjectStore } from '../storage/interface/object-store.ts';
import type { Log } from '../telemetry/log.ts';
import { findJob, readerOf } from './rows/job-rows.ts';

interface JobExportsOptions {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly custody: Pick<Custody, 'begin'>;
  readonly revocations: Revocations;
  readonly log: Log;
}

type FoundExport = NonNullable<Awaited<ReturnType<typeof findExport>>>;

export type JobExports = ReturnType<typeof createJobExports>;

/** Creates the service that sends the archives of evidence exports. */
export function createJobExports({ db, store, custody, revocations, log }: JobExportsOptions) {
  /** Runs `work` with the archive of a job that the caller may see. Throws as `find` does. */
  async function withExport<T>(
    caller: Caller,
    jobId: string,
    work: (tx: Tx, found: FoundExport) => Promise<T>,
  ): Promise<T> {
    const job = await findJob(db, caller, jobId);
    if (job.type !== 'EVIDENCE_EXPORT' || job.state !== 'COMPLETED')
      throw new AppError('not_found');
    const act = async (tx: Tx) => {
      const found = await findExport(tx, jobId);
      if (found === undefined) throw new AppError('export_expired');
      return work(tx, found);
    };
    const isOperator = readerOf(caller).reach !== undefined;
    return isOperator ? db.asService(act) : db.asUser(caller, act);
  }

  async function assertMayRead(caller: Caller, jobId: string): Promise<void> {
    if (await revocations.isRevoked(caller.sessionId)) throw new AppError('invalid_token');
    await withExport(caller, jobId, async () => undefined);
  }

  /** Stores that a download of the archive begins, if any byte of it is to be sent. */
  async function begin(
    tx: Tx,
    { caller, requestId }: ServiceRequest,
    { found, jobId, http }: { found: FoundExport; jobId: string; http: FileRequest },
  ) {
    const wanted = evaluate(http, etagFor(found.hash), found.size);
    if (!isSent(http, wanted)) return { wanted, download: undefined };
    const download = await custody.begin(tx, {
      owner: { userId: found.user_id, tenantId: found.tenant_id },
      documentId: found.document_id,
      version: null,
      jobId,
      fileHash: found.hash,
      readerId: caller.userId,
      shareId: null,
      requestId,
      isPart: wanted !== 'all',
    });
    return { wanted, download };
  }

  return {
    /**
     * Returns the archive of a job that the caller may see, and what of it `http` asks for. If that
     * is some bytes, the download has begun. Throws export_expired, the errors of `evaluate`,
     * rate_limited as custody does, and not_found, also if the job writes no archive or has not
     * written it.
     */
    async find(request: ServiceRequest, jobId: string, http: FileRequest) {
      const { caller } = request;
      const { found, wanted, download } = await withExport(caller, jobId, async (tx, found) => ({
        found,
        ...(await begin(tx, request, { found, jobId, http })),
      }));
      const { document_id: documentId, size, hash } = found;
      return {
        fileName: `evidence-${documentId}.zip`,
        size,
        hash,
        wanted,
        /**
         * Opens the archive, and resolves once the first bytes have arrived. The stream fails
         * within seconds after the caller loses the right to read it. Throws StorageError or the
         * reason of `signal`.
         */
        async open(range: ByteRange | undefined, signal: AbortSignal): Promise<Readable> {
          const { storage_key: key, object_version: ifVersion } = found;
          try {
            const { body } = await store.get(key, { range, ifVersion, signal });
            await once(body, 'readable');
            endWithRight(body, () => assertMayRead(caller, jobId), log);
            return body;
          } catch (error) {
            download?.cancel();
            throw error;
          }
        },
        onSent: (sent: SentBytes) => download?.end(sent),
      };
    },
  };
}
