import type { z } from 'zod';
import type { Clock } from '../../async/clock.ts';
import type { Database, Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import { assertIfMatch, type IfMatch } from '../../http/responses/precondition.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import { backlogChecked, type Act } from '../../audit-trail/act.ts';
import type { CompletedFile, Uploads } from '../../uploads/uploads.ts';
import {
  commitmentOf,
  loadOwner,
  lockDocument,
  type DocumentRow,
  type VersionRow,
} from '../records/document-rows.ts';
import { revise } from '../records/document-changes.ts';
import { findFile, insertVersion, refusingDuplicates, versionOf } from '../records/file-claim.ts';
import type { AddVersion, VersionView } from '../records/schema.ts';
import { loadVersions, type ListedVersion } from './pages.ts';

type View = z.input<typeof VersionView>;

/** A version to add. `ifMatch` is the revision that the document must have, if it is given. */
interface NewVersion extends z.output<typeof AddVersion> {
  readonly ifMatch: IfMatch | undefined;
}

/** The maximum number of versions of a document, which bounds the work of removing a document. */
const maxVersions = 1000;

interface VersionsOptions {
  readonly db: Database;
  readonly act: Act;
  readonly uploads: Uploads;
  readonly clock: Clock;
}

interface Addition {
  readonly file: CompletedFile;
  readonly id: string;
  readonly metadata: string | undefined;
  readonly contentCommitment: string | undefined;
  readonly ifMatch: IfMatch | undefined;
  readonly clock: Clock;
}

export type DocumentVersions = ReturnType<typeof createDocumentVersions>;

/** Creates the service that adds and lists versions. The newest version is the current one. */
export function createDocumentVersions({ db, act, uploads, clock }: VersionsOptions) {
  return {
    /**
     * Adds a completed upload to a document as its new current version, whatever the status of the
     * previous version. Without new metadata, the new version takes over the metadata of the
     * previous version. Throws not_found, stored_file_not_found, duplicate_hash, too_many_versions
     * or precondition_failed.
     */
    async add(
      request: ServiceRequest,
      id: string,
      { storagePath, encryptedMetadata: metadata, contentCommitment, ifMatch }: NewVersion,
    ): Promise<View> {
      const { caller } = request;
      act.assertWritable(request);
      // Check the document first, so that a missing document is reported rather than a missing
      // file.
      await db.asUser(caller, async (tx) => {
        assertUnchanged(ifMatch, await lockDocument(tx, caller, id));
      });
      const file = await findFile(uploads, request, storagePath);
      return refusingDuplicates(() =>
        act(
          request,
          async (tx) => {
            const addition = { file, id, metadata, contentCommitment, ifMatch, clock };
            const added = await insertNext(tx, uploads, caller, addition);
            return { answer: toView(added), events: [addedEvent(added)] };
          },
          backlogChecked,
        ),
      );
    },

    /**
     * Lists the versions of a document, newest first. `cursor` is the last version number on the
     * previous page; the returned cursor is undefined if no further page exists. Throws not_found.
     */
    list: (
      { caller }: ServiceRequest,
      id: string,
      { limit, cursor }: { readonly limit: number; readonly cursor?: number | undefined },
    ) =>
      db.asUser(caller, async (tx) => {
        const readable = await loadOwner(tx, caller, id);
        const page = await loadVersions(tx, { id, ...readable }, { limit, cursor });
        return { versions: page.rows.map(toView), cursor: page.cursor };
      }),
  };
}

async function insertNext(
  tx: Tx,
  uploads: Uploads,
  caller: Caller,
  { file, id, metadata, contentCommitment, ifMatch, clock }: Addition,
): Promise<VersionRow> {
  const current = await lockDocument(tx, caller, id);
  assertUnchanged(ifMatch, current);
  if (current.version >= maxVersions) throw new AppError('too_many_versions');
  const added = versionOf(file, caller, {
    documentId: id,
    version: current.version + 1,
    encryptedMetadata: metadata ?? current.encrypted_metadata,
    contentCommitment,
    createdAt: clock(),
  });
  await insertVersion(tx, uploads, added);
  revise(tx, { ...current, version: added.version });
  return added;
}

function assertUnchanged(ifMatch: IfMatch | undefined, { revision }: DocumentRow): void {
  if (ifMatch !== undefined) assertIfMatch(ifMatch, revision);
}

function addedEvent(added: VersionRow) {
  return {
    action: 'document.version_added',
    resource: { type: 'document', id: added.document_id },
    data: {
      version: added.version,
      fileHash: added.file_hash,
      size: added.file_size,
      ...commitmentOf(added),
    },
  } as const;
}

function toView(row: ListedVersion): View {
  return {
    documentId: row.document_id,
    version: row.version,
    encryptedMetadata: row.encrypted_metadata,
    fileHash: row.file_hash,
    status: row.status,
    createdAt: row.created_at,
  };
}
