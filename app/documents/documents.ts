import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import { byOwner } from '../trail/event.ts';
import type { AuditTrail } from '../trail/trail.ts';
import type { Clock } from '../async/clock.ts';
import type { Database, Owner, Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { Idempotency } from '../http/routing/idempotency.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { Uploads } from '../uploads/uploads.ts';
import {
  loadDocument,
  lockDocument,
  ownerOf,
  toRevised,
  toView,
  type RevisedDocument,
  type VersionRow,
} from './records/document-rows.ts';
import { claimingFile, findFile, insertVersion, versionOf } from './records/file-claim.ts';
import { insertKeywords } from './records/keyword-rows.ts';
import { loadPage, type DocumentsPage } from './records/pages.ts';
import type { CreateDocument, DocumentView } from './records/schema.ts';
import { removeUnsealed } from './unsealed.ts';

type View = z.input<typeof DocumentView>;

export interface Documents {
  /**
   * Waits for the server's hash, unless the client hangs up: then nothing is made, and it can ask
   * again. Throws stored_file_not_found or duplicate_hash.
   */
  create(
    caller: Caller,
    input: z.output<typeof CreateDocument>,
    requestId: string,
    hangUp?: AbortSignal,
    idempotency?: Idempotency<View>,
  ): Promise<View>;
  /** Newest first; `cursor` is the last id of the page before. */
  list(
    caller: Caller,
    page: { limit: number; cursor?: string | undefined },
  ): Promise<DocumentsPage>;
  /** Throws not_found. */
  get(caller: Caller, id: string): Promise<RevisedDocument>;
  /** Throws not_found, or document_sealed unless the caller is a probatio_admin. */
  remove(caller: Caller, id: string, requestId: string): Promise<void>;
  /** Removes what an owner has not sealed, in the service's transaction. Answers how many. */
  removeUnsealed(tx: Tx, owner: Owner): Promise<{ documents: number; uploads: number }>;
}

interface DocumentsOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly outbox: Outbox;
  readonly uploads: Uploads;
  readonly clock: Clock;
}

export function createDocuments(options: DocumentsOptions): Documents {
  const { db, audit, outbox, uploads, clock } = options;

  async function insert(
    tx: Tx,
    caller: Caller,
    row: VersionRow,
    keywords: readonly string[],
    requestId: string,
  ): Promise<void> {
    const { document_id: id, user_id, tenant_id } = row;
    await tx
      .insertInto('documents')
      .values({ id, user_id, tenant_id, created_at: row.created_at })
      .execute();
    await insertVersion(tx, uploads, row);
    await insertKeywords(tx, row, keywords);
    await audit.append(tx, {
      action: 'document.created',
      ...byOwner(caller, requestId),
      resource: { type: 'document', id },
      data: { fileHash: row.file_hash, size: row.file_size },
    });
  }

  return {
    async create(caller, input, requestId, hangUp, idempotency) {
      audit.assertWritable();
      const { encryptedMetadata, keywordDeterministic, storagePath } = input;
      const file = await findFile(uploads, caller, storagePath, hangUp);
      const documentId = uuidv7();
      const createdAt = clock();
      const row = versionOf(file, caller, { documentId, version: 1, encryptedMetadata, createdAt });
      const view = toView({ ...row, revision: 1, document_created_at: createdAt });
      await claimingFile(db, caller, async (tx) => {
        await idempotency?.keep(tx, view);
        await insert(tx, caller, row, keywordDeterministic, requestId);
      });
      return view;
    },

    list: (caller, { limit, cursor }) =>
      db.asUser(caller, async (tx) => {
        let query = tx
          .selectFrom('documents')
          .select('id')
          .where('user_id', '=', caller.userId)
          .orderBy('id', 'desc')
          .limit(limit + 1);
        if (cursor !== undefined) query = query.where('id', '<', cursor);
        const ids = (await query.execute()).map(({ id }) => id);
        return loadPage(tx, ids, limit);
      }),

    get: (caller, id) => db.asUser(caller, async (tx) => toRevised(await loadDocument(tx, id))),

    async remove(caller, id, requestId) {
      audit.assertWritable();
      const isAdmin = caller.roles.includes('probatio_admin');
      const removeIn = async (tx: Tx) => {
        const row = await lockDocument(tx, id);
        const versions = await tx
          .selectFrom('document_versions')
          .selectAll()
          .where('document_id', '=', id)
          .orderBy('version')
          .execute();
        const sealed = versions.filter(({ status }) => status === 'SEALED');
        if (!isAdmin && sealed.length > 0) {
          throw new AppError('document_sealed', { status: 403 });
        }
        await tx.deleteFrom('documents').where('id', '=', id).execute();
        for (const version of versions) await uploads.forget(tx, version.storage_key);
        await outbox.addAll(
          tx,
          'object.delete',
          versions.map((version) => ({
            key: version.storage_key,
            version: version.object_version,
          })),
        );
        await audit.append(tx, {
          action: 'document.deleted',
          actor: { type: 'user', id: caller.userId },
          owner: ownerOf(row),
          resource: { type: 'document', id },
          requestId,
          data: {
            fileHash: row.file_hash,
            status: row.status,
            versions: versions.length,
            sealedVersions: sealed.length,
          },
        });
      };
      await (isAdmin ? db.asService(removeIn) : db.asUser(caller, removeIn));
    },

    removeUnsealed: (tx, owner) => removeUnsealed(tx, uploads, owner),
  };
}
