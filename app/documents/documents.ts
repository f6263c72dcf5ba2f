import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import { reachOf, type Reach } from '../accounts/reach.ts';
import type { Clock } from '../async/clock.ts';
import { atOnce, type Database, type Tx } from '../db/database.ts';
import { violatesUnique } from '../db/pg-error.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import { removeExports } from '../evidence-exports/rows/export-rows.ts';
import type { Outbox } from '../outbox/outbox.ts';
import { backlogChecked, type Act, type Acted } from '../audit-trail/act.ts';
import type { RequestEvent } from '../audit-trail/event.ts';
import type { FreshProof } from '../sessions/fresh-proof.ts';
import type { Uploads } from '../uploads/uploads.ts';
import {
  findOwner,
  commitmentOf,
  loadDocument,
  loadHash,
  lockDocument,
  ownerOf,
  statedVersion,
  toRevised,
  toView,
  type DocumentRow,
  type RevisedDocument,
  type VersionRow,
} from './records/document-rows.ts';
import { findFile, insertVersion, refusingDuplicates, versionOf } from './records/file-claim.ts';
import { insertKeywords } from './records/keyword-rows.ts';
import { readPage, type DocumentsPage } from './records/pages.ts';
import type { CreateDocument, DocumentView } from './records/schema.ts';
import type { AuthorStatement } from '../statements/schema.ts';
import type { Statements } from '../statements/statements.ts';

interface DocumentsOptions {
  readonly db: Database;
  readonly act: Act;
  readonly outbox: Outbox;
  readonly uploads: Uploads;
  readonly statements: Statements;
  readonly clock: Clock;
}

export type Documents = ReturnType<typeof createDocuments>;

/** Creates the service that creates, lists and removes the documents of users. */
export function createDocuments(options: DocumentsOptions) {
  const { db, act, outbox, uploads, statements, clock } = options;

  return {
    /**
     * Creates a document from a completed upload. Waits until the server has hashed the file. If
     * the client hangs up during the wait, no document is created, and the client can retry. Throws
     * stored_file_not_found, duplicate_hash, or document_exists if the id that the client chose is
     * or was one of any document.
     */
    async create(
      request: ServiceRequest,
      input: z.output<typeof CreateDocument>,
    ): Promise<z.input<typeof DocumentView>> {
      act.assertWritable(request);
      const { encryptedMetadata, keywordDeterministic, storagePath, contentCommitment } = input;
      const file = await findFile(uploads, request, storagePath);
      const place = uuidv7();
      const documentId = input.id ?? place;
      const createdAt = clock();
      const content = { documentId, version: 1, encryptedMetadata, contentCommitment, createdAt };
      const version = versionOf(file, request.caller, content);
      const row = {
        ...version,
        place,
        revision: 1,
        document_created_at: createdAt,
        whole_at: null,
      };
      const work = async (tx: Tx) => {
        await insertDocument(tx, row);
        await insertVersion(tx, uploads, version);
        await insertKeywords(tx, row, keywordDeterministic);
        return { answer: toView(row), events: [created(row)] };
      };
      return refusingTakenIds(() => refusingDuplicates(() => act(request, work, backlogChecked)));
    },

    /** Lists the caller's documents, newest first; `cursor` is the last place of the last page. */
    list: (
      { caller }: ServiceRequest,
      { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
    ): Promise<DocumentsPage> =>
      readPage(db, caller, limit, async (tx) => {
        let query = tx
          .selectFrom('documents')
          .select('place')
          .where('user_id', '=', caller.userId)
          .where('tenant_id', '=', caller.tenantId)
          .orderBy('place', 'desc')
          .limit(limit + 1);
        if (cursor !== undefined) query = query.where('place', '<', cursor);
        return (await query.execute()).map(({ place }) => place);
      }),

    /** Returns a document in its current version. Throws not_found. */
    get: ({ caller }: ServiceRequest, id: string): Promise<RevisedDocument> =>
      db.asUser(caller, async (tx) => toRevised(await loadDocument(tx, caller, id)), atOnce),

    /** Returns the hash of the file of a document's current version, in hex. Throws not_found. */
    getHash: ({ caller }: ServiceRequest, id: string): Promise<string> =>
      db.asUser(caller, (tx) => loadHash(tx, caller, id), atOnce),

    /**
     * Deletes a document with all its versions and their files: the caller's own, or for
     * administrators any in their reach. Throws not_found, and statement_invalid for a statement
     * that is not of the current version. If a version is sealed, throws document_sealed unless the
     * caller is an administrator, and for administrators as `FreshProof.assertGiven` does.
     */
    remove(
      request: ServiceRequest,
      id: string,
      { proof, stated }: Pick<Removal, 'proof' | 'stated'>,
    ): Promise<void> {
      const { caller } = request;
      const reach = reachOf(caller, 'administration');
      const work = (tx: Tx) =>
        removeDocument(tx, { uploads, outbox, statements }, { caller, id, reach, proof, stated });
      return reach === undefined ? act(request, work) : act.asService(request, work);
    },
  };
}

/** Throws document_exists if a document that is gone had the id. */
async function insertDocument(tx: Tx, row: DocumentRow): Promise<void> {
  const { document_id: id, user_id, tenant_id, place, created_at } = row;
  // The insert waits for a concurrent removal of a document with the id, which the query sees.
  await tx.insertInto('documents').values({ id, user_id, tenant_id, place, created_at }).execute();
  const removed = await tx
    .selectFrom('removed_documents')
    .select('id')
    .where('id', '=', id)
    .executeTakeFirst();
  if (removed !== undefined) throw new AppError('document_exists');
}

/** Runs a transaction that inserts a document. Throws document_exists if another one has its id. */
async function refusingTakenIds<T>(insertsDocument: () => Promise<T>): Promise<T> {
  try {
    return await insertsDocument();
  } catch (error) {
    throw violatesUnique(error, 'documents_pkey')
      ? new AppError('document_exists', { cause: error })
      : error;
  }
}

function created(row: VersionRow): RequestEvent {
  return {
    action: 'document.created',
    resource: { type: 'document', id: row.document_id },
    data: { fileHash: row.file_hash, size: row.file_size, ...commitmentOf(row) },
  };
}

interface Removal {
  readonly caller: Caller;
  readonly id: string;
  /** The documents of other users that the caller may delete; undefined if there are none. */
  readonly reach: Reach | undefined;
  readonly proof: FreshProof;
  /** The owner's statement of the removal. */
  readonly stated: AuthorStatement | undefined;
}

async function removeDocument(
  tx: Tx,
  { uploads, outbox, statements }: Pick<DocumentsOptions, 'uploads' | 'outbox' | 'statements'>,
  { caller, id, reach, proof, stated }: Removal,
): Promise<Acted<void>> {
  const owner = reach === undefined ? caller : await findOwner(tx, id, reach);
  const { userId, tenantId } = owner;
  const row = await lockDocument(tx, owner, id);
  const versions = await tx
    .selectFrom('document_versions')
    .select(['status', 'storage_key', 'object_version'])
    .where('document_id', '=', id)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .orderBy('version')
    .execute();
  const sealed = versions.filter(({ status }) => status === 'SEALED');
  if (sealed.length > 0) {
    if (reach === undefined) throw new AppError('document_sealed', { status: 403 });
    await proof.assertGiven(tx);
  }
  const author = await statements.verify(tx, caller, stated, () => ({
    action: 'document.deleted',
    ...statedVersion(row),
  }));
  await removeExports(tx, outbox, { documentId: id });
  await tx
    .deleteFrom('documents')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .execute();
  for (const version of versions) await uploads.forget(tx, owner, version.storage_key);
  await outbox.addAll(
    tx,
    'object.delete',
    versions.map((version) => ({ key: version.storage_key, version: version.object_version })),
  );
  const deleted: RequestEvent = {
    action: 'document.deleted',
    owner: ownerOf(row),
    resource: { type: 'document', id },
    data: {
      fileHash: row.file_hash,
      status: row.status,
      versions: versions.length,
      sealedVersions: sealed.length,
      ...author,
    },
  };
  return { answer: undefined, events: [deleted] };
}
