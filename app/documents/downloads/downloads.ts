import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { sql } from 'kysely';
import type { BegunDownload, Custody } from '../../audit/custody/custody.ts';
import type { Revocations } from '../../sessions/revocations.ts';
import type { Database, Owner, Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { ByteRange, ObjectStore } from '../../storage/interface/object-store.ts';
import { StorageError, type StorageErrorCode } from '../../storage/interface/storage-error.ts';
import type { Log } from '../../telemetry/log.ts';
import { ownerOf, type VersionRow } from '../records/document-rows.ts';
import { isReadableBy, onlyVersionFor, shareShownTo, versionShownTo } from '../records/readable.ts';
import { etagFor, evaluate, isSent, type FileRequest, type Wanted } from './range-request.ts';
import { endWithRight } from './reading-right.ts';

interface DownloadsOptions {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly custody: Pick<Custody, 'begin'>;
  readonly revocations: Revocations;
  readonly log: Log;
}

/** Error codes of the object store which mean that the hashed bytes are gone or were replaced. */
const damages: ReadonlySet<StorageErrorCode> = new Set([
  'object_not_found',
  'version_changed',
  'invalid_range',
]);

/** The columns of a version without its metadata, which a download does not need. */
const columns = [
  'document_versions.document_id',
  'document_versions.version',
  'document_versions.user_id',
  'document_versions.tenant_id',
  'document_versions.storage_key',
  'document_versions.object_version',
  'document_versions.file_size',
  'document_versions.file_hash',
] as const;

interface StoredFile extends Pick<
  VersionRow,
  | 'document_id'
  | 'version'
  | 'user_id'
  | 'tenant_id'
  | 'storage_key'
  | 'object_version'
  | 'file_size'
  | 'file_hash'
> {
  readonly share_id: string | null;
}

/** The file that a request names, and the part of it to send. */
export interface WantedFile {
  readonly file: StoredFile;
  readonly wanted: Wanted;
  /** Records the download; undefined if no byte of the file is to be sent. */
  readonly download: BegunDownload | undefined;
}

interface OpenOptions {
  readonly range: ByteRange | undefined;
  readonly signal: AbortSignal;
}

export type Downloads = ReturnType<typeof createDownloads>;

/** Creates the service that sends the files of documents to their owners and recipients. */
export function createDownloads({ db, store, custody, revocations, log }: DownloadsOptions) {
  function findVersion(caller: Caller, id: string, version?: number): Promise<StoredFile> {
    return db.asUser(caller, (tx) => loadFile(tx, caller, id, version));
  }

  async function assertMayRead(caller: Caller, file: StoredFile): Promise<void> {
    if (await revocations.isRevoked(caller.sessionId)) throw new AppError('invalid_token');
    await findVersion(caller, file.document_id, file.version);
  }

  /**
   * Returns the error to report to the client after a read from the object store failed with
   * `error`. Never rejects.
   */
  async function explain(caller: Caller, file: StoredFile, error: unknown): Promise<unknown> {
    if (!(error instanceof StorageError && damages.has(error.code))) return error;
    const { document_id: documentId, version } = file;
    try {
      await findVersion(caller, documentId, version);
    } catch (cause) {
      return cause;
    }
    log.error({ err: error, documentId, version }, 'a stored file is not the one that was hashed');
    return new AppError('stored_file_changed', { cause: error });
  }

  return {
    /**
     * Returns the given version of a document, or its current version if `version` is undefined,
     * and what of its file `http` asks for. If that is some bytes, the download has begun: pass it
     * to `open`. Throws not_found, the errors of `evaluate`, and rate_limited as custody does.
     */
    find: (
      { caller, requestId }: ServiceRequest,
      { id, version }: { readonly id: string; readonly version: number | undefined },
      http: FileRequest,
    ): Promise<WantedFile> =>
      db.asUser(caller, async (tx) => {
        const file = await loadFile(tx, caller, id, version);
        const wanted = evaluate(http, etagFor(file.file_hash), file.file_size);
        const download = isSent(http, wanted)
          ? await custody.begin(tx, {
              owner: ownerOf(file),
              documentId: file.document_id,
              version: file.version,
              jobId: null,
              fileHash: file.file_hash,
              readerId: caller.userId,
              shareId: file.share_id,
              requestId,
              isPart: wanted !== 'all',
            })
          : undefined;
        return { file, wanted, download };
      }),

    /**
     * Opens the stored file of a version, and resolves once the first bytes have arrived. The
     * stream fails within seconds after the caller loses the right to read the file. Throws
     * stored_file_changed if the stored bytes are no longer the bytes that the server hashed,
     * not_found if the document was deleted meanwhile, StorageError, or the reason of `signal`.
     */
    async open(
      { caller }: ServiceRequest,
      { file, download }: WantedFile,
      { range, signal }: OpenOptions,
    ): Promise<Readable> {
      try {
        const { storage_key: key, object_version: ifVersion } = file;
        const { body, size } = await store.get(key, { range, ifVersion, signal });
        if (size !== file.file_size) {
          body.destroy();
          throw new StorageError('version_changed');
        }
        await once(body, 'readable');
        body.once('error', (error) => void explain(caller, file, error));
        endWithRight(body, () => assertMayRead(caller, file), log);
        return body;
      } catch (error) {
        download?.cancel();
        throw await explain(caller, file, error);
      }
    },
  };
}

/** Loads a version of a document, the current one by default. Throws not_found. */
async function loadFile(
  tx: Tx,
  reader: Owner,
  id: string,
  version: number | undefined,
): Promise<StoredFile> {
  const file = tx
    .selectFrom('document_versions')
    .innerJoin('documents', 'documents.id', 'document_versions.document_id')
    .select(columns)
    .select(shareShownTo(reader).as('share_id'))
    .where('documents.id', '=', id)
    .where(isReadableBy(reader));
  const row = await (
    version === undefined
      ? file.where('document_versions.version', '=', versionShownTo(reader))
      : file
          .where('document_versions.version', '=', version)
          .where(sql<boolean>`coalesce(${onlyVersionFor(reader)}, ${version}) = ${version}`)
  ).executeTakeFirst();
  if (row === undefined) throw new AppError('not_found');
  return row;
}
