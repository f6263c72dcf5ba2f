import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Revocations } from '../../sessions/revocations.ts';
import type { Database, Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { ByteRange, ObjectStore } from '../../storage/interface/object-store.ts';
import { StorageError, type StorageErrorCode } from '../../storage/interface/storage-error.ts';
import type { Log } from '../../telemetry/log.ts';
import { loadDocument, type VersionRow } from '../records/document-rows.ts';
import { endWithRight } from './right.ts';

/** The files of documents, for their owners and those they are shared with. */
export interface Downloads {
  /** A version, the current one unless another is named. Throws not_found. */
  find(caller: Caller, id: string, version: number | undefined): Promise<VersionRow>;
  /**
   * Opens what is stored of a version, and resolves once the first bytes are there. The stream fails
   * once the caller may no longer read it.
   * Throws stored_file_changed when it is not what was hashed, not_found when it was deleted
   * meanwhile, StorageError, or the reason of `signal`.
   */
  open(
    caller: Caller,
    file: VersionRow,
    options: { range: ByteRange | undefined; signal: AbortSignal },
  ): Promise<Readable>;
}

interface DownloadsOptions {
  readonly db: Database;
  readonly store: ObjectStore;
  readonly revocations: Revocations;
  readonly log: Log;
}

/** Codes that say that the bytes which were hashed are not there. */
const damages: ReadonlySet<StorageErrorCode> = new Set([
  'object_not_found',
  'version_changed',
  'invalid_range',
]);

export function createDownloads({ db, store, revocations, log }: DownloadsOptions): Downloads {
  function find(caller: Caller, id: string, version: number | undefined): Promise<VersionRow> {
    return db.asUser(caller, (tx) =>
      version === undefined ? loadDocument(tx, id) : loadVersion(tx, id, version),
    );
  }

  async function assertMayRead(caller: Caller, file: VersionRow): Promise<void> {
    if (await revocations.isRevoked(caller.sessionId)) throw new AppError('invalid_token');
    await find(caller, file.document_id, file.version);
  }

  /** Never rejects. */
  async function explain(caller: Caller, file: VersionRow, error: unknown): Promise<unknown> {
    if (!(error instanceof StorageError && damages.has(error.code))) return error;
    const { document_id: documentId, version } = file;
    try {
      await find(caller, documentId, version);
    } catch (cause) {
      return cause;
    }
    log.error({ err: error, documentId, version }, 'a stored file is not the one that was hashed');
    return new AppError('stored_file_changed', { cause: error });
  }

  return {
    find,
    async open(caller, file, { range, signal }) {
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
        throw await explain(caller, file, error);
      }
    },
  };
}

async function loadVersion(tx: Tx, id: string, version: number): Promise<VersionRow> {
  const row = await tx
    .selectFrom('document_versions')
    .selectAll()
    .where('document_id', '=', id)
    .where('version', '=', version)
    .executeTakeFirst();
  if (row === undefined) throw new AppError('not_found');
  return row;
}
