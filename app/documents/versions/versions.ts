import type { z } from 'zod';
import { byOwner } from '../../trail/event.ts';
import type { AuditTrail } from '../../trail/trail.ts';
import type { Clock } from '../../async/clock.ts';
import type { Database, Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { Idempotency } from '../../http/routing/idempotency.ts';
import type { CompletedFile, Uploads } from '../../uploads/uploads.ts';
import { loadDocument, lockDocument, revise, type VersionRow } from '../records/document-rows.ts';
import { claimingFile, findFile, insertVersion, versionOf } from '../records/file-claim.ts';
import type { AddVersion, VersionView } from '../records/schema.ts';

type View = z.input<typeof VersionView>;

/** So that whatever lists or removes all versions of a document stays small. */
const maxVersions = 1000;

interface AdditionRequest {
  readonly requestId: string;
  /** Ends the wait for the hash of the file. */
  readonly hangUp: AbortSignal;
  readonly idempotency: Idempotency<View> | undefined;
}

/** The files of documents. The newest is current; none ever changes another. */
export interface DocumentVersions {
  /**
   * Makes a completed upload the current version, whatever became of those before, with their
   * metadata unless it has its own. Throws not_found, stored_file_not_found, duplicate_hash or
   * too_many_versions.
   */
  add(
    caller: Caller,
    id: string,
    input: z.output<typeof AddVersion>,
    request: AdditionRequest,
  ): Promise<View>;
  /**
   * Newest first; `cursor` is the last number of the page before, and undefined after the last
   * page. Throws not_found.
   */
  list(
    caller: Caller,
    id: string,
    page: { limit: number; cursor?: number | undefined },
  ): Promise<{ versions: View[]; cursor: number | undefined }>;
}

interface VersionsOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly uploads: Uploads;
  readonly clock: Clock;
}

export function createDocumentVersions(options: VersionsOptions): DocumentVersions {
  const { db, audit, uploads, clock } = options;

  async function insert(
    tx: Tx,
    caller: Caller,
    { file, id, metadata }: { file: CompletedFile; id: string; metadata: string | undefined },
    { requestId, idempotency }: AdditionRequest,
  ): Promise<View> {
    const current = await lockDocument(tx, id);
    if (current.version >= maxVersions) throw new AppError('too_many_versions');
    const added = versionOf(file, caller, {
      documentId: id,
      version: current.version + 1,
      encryptedMetadata: metadata ?? current.encrypted_metadata,
      createdAt: clock(),
    });
    await insertVersion(tx, uploads, added);
    await revise(tx, { ...current, version: added.version });
    const view = toView(added);
    await idempotency?.keep(tx, view);
    await audit.append(tx, {
      action: 'document.version_added',
      ...byOwner(caller, requestId),
      resource: { type: 'document', id },
      data: { version: added.version, fileHash: added.file_hash, size: added.file_size },
    });
    return view;
  }

  return {
    async add(caller, id, { storagePath, encryptedMetadata: metadata }, request) {
      audit.assertWritable();
      // Whose document it is comes before whose file.
      await db.asUser(caller, (tx) => lockDocument(tx, id));
      const file = await findFile(uploads, caller, storagePath, request.hangUp);
      return claimingFile(db, caller, (tx) => insert(tx, caller, { file, id, metadata }, request));
    },

    list: (caller, id, { limit, cursor }) =>
      db.asUser(caller, async (tx) => {
        await loadDocument(tx, id);
        let query = tx
          .selectFrom('document_versions')
          .selectAll()
          .where('document_id', '=', id)
          .orderBy('version', 'desc')
          .limit(limit + 1);
        if (cursor !== undefined) query = query.where('version', '<', cursor);
        const rows = await query.execute();
        const versions = rows.slice(0, limit).map(toView);
        return { versions, cursor: rows.length > limit ? versions.at(-1)?.version : undefined };
      }),
  };
}

function toView(row: VersionRow): View {
  return {
    documentId: row.document_id,
    version: row.version,
    fileHash: row.file_hash,
    status: row.status,
    createdAt: row.created_at,
  };
}
