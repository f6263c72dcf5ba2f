import type { Selectable } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import { byOwner } from '../audit/event.ts';
import type { AuditTrail } from '../audit/trail.ts';
import type { Clock } from '../clock.ts';
import type { Database, Owner, Tx } from '../db/database.ts';
import { violatesUnique } from '../db/pg-error.ts';
import type { Schema } from '../db/schema.ts';
import { AppError } from '../errors.ts';
import type { Caller } from '../http/caller.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { Uploads } from '../uploads/service.ts';
import type { CreateDocument, DocumentView } from './schema.ts';

type DocumentRow = Selectable<Schema['documents']>;
type View = z.input<typeof DocumentView>;

export interface Documents {
  /** Waits for the server's hash. Throws stored_file_not_found or duplicate_hash. */
  create(caller: Caller, input: z.output<typeof CreateDocument>, requestId: string): Promise<View>;
  /** Newest first; `cursor` is the last id of the page before, and undefined after the last page. */
  list(
    caller: Caller,
    page: { limit: number; cursor?: string | undefined },
  ): Promise<{ documents: View[]; cursor: string | undefined }>;
  /** Throws not_found. */
  get(caller: Caller, id: string): Promise<View>;
  /** Throws not_found, or document_sealed unless the caller is a probatio_admin. */
  remove(caller: Caller, id: string, requestId: string): Promise<void>;
  /**
   * Removes, in the service's transaction, every document of an owner that is not sealed and every
   * upload but those of sealed documents. What is created or sealed at the same time is either
   * seen here or refused there. Answers how many.
   */
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

  /** One document a file, and none of a file that is going. Throws stored_file_not_found. */
  async function claimFile(tx: Tx, storageKey: string): Promise<void> {
    const isThere = await uploads.hold(tx, storageKey);
    const taken = await tx
      .selectFrom('documents')
      .select('id')
      .where('storage_key', '=', storageKey)
      .executeTakeFirst();
    if (!isThere || taken !== undefined) throw new AppError('stored_file_not_found');
  }

  async function insert(
    tx: Tx,
    caller: Caller,
    row: DocumentRow,
    keywords: readonly string[],
    requestId: string,
  ): Promise<void> {
    await claimFile(tx, row.storage_key);
    await tx.insertInto('documents').values(row).execute();
    if (keywords.length > 0) {
      await tx
        .insertInto('document_keywords')
        .values(
          [...new Set(keywords)].map((keyword_hash) => ({
            user_id: row.user_id,
            tenant_id: row.tenant_id,
            keyword_hash,
            document_id: row.id,
          })),
        )
        .execute();
    }
    await audit.append(tx, {
      action: 'document.created',
      ...byOwner(caller, requestId),
      resource: { type: 'document', id: row.id },
      data: { fileHash: row.file_hash, size: row.file_size },
    });
  }

  return {
    async create(caller, { encryptedMetadata, keywordDeterministic, storagePath }, requestId) {
      audit.assertWritable();
      const file = await uploads.findCompleted(caller, storagePath);
      if (file === undefined) throw new AppError('stored_file_not_found');
      const row: DocumentRow = {
        id: uuidv7(),
        user_id: caller.userId,
        tenant_id: caller.tenantId,
        storage_key: file.storageKey,
        object_version: file.objectVersion,
        file_size: file.fileSize,
        file_hash: file.fileHash,
        encrypted_metadata: encryptedMetadata,
        status: 'PENDING',
        created_at: clock(),
        sealed_at: null,
        proof_id: null,
      };
      try {
        await db.asUser(caller, (tx) => insert(tx, caller, row, keywordDeterministic, requestId));
      } catch (error) {
        throw violatesUnique(error, 'documents_user_hash')
          ? new AppError('duplicate_hash', { cause: error })
          : error;
      }
      return toView(row);
    },

    list: (caller, { limit, cursor }) =>
      db.asUser(caller, async (tx) => {
        let query = tx
          .selectFrom('documents')
          .selectAll()
          .where('user_id', '=', caller.userId)
          .orderBy('id', 'desc')
          .limit(limit + 1);
        if (cursor !== undefined) query = query.where('id', '<', cursor);
        const rows = await query.execute();
        const documents = rows.slice(0, limit).map(toView);
        return { documents, cursor: rows.length > limit ? documents.at(-1)?.id : undefined };
      }),

    get: (caller, id) => db.asUser(caller, async (tx) => toView(await loadDocument(tx, id))),

    async remove(caller, id, requestId) {
      audit.assertWritable();
      const isAdmin = caller.roles.includes('probatio_admin');
      const removeIn = async (tx: Tx) => {
        const row = await lockDocument(tx, id);
        if (row.status === 'SEALED' && !isAdmin) {
          throw new AppError('document_sealed', { status: 403 });
        }
        await tx.deleteFrom('documents').where('id', '=', id).execute();
        await uploads.forget(tx, row.storage_key);
        await outbox.add(tx, 'object.delete', {
          key: row.storage_key,
          version: row.object_version,
        });
        await audit.append(tx, {
          action: 'document.deleted',
          actor: { type: 'user', id: caller.userId },
          owner: ownerOf(row),
          resource: { type: 'document', id },
          requestId,
          data: { fileHash: row.file_hash, status: row.status },
        });
      };
      await (isAdmin ? db.asService(removeIn) : db.asUser(caller, removeIn));
    },

    async removeUnsealed(tx, owner) {
      const { userId, tenantId } = owner;
      // Documents before uploads, as `remove` has it. Then no upload becomes one any more.
      await tx
        .selectFrom('documents')
        .select('id')
        .where('user_id', '=', userId)
        .where('tenant_id', '=', tenantId)
        .where('status', '<>', 'SEALED')
        .orderBy('id')
        .forUpdate()
        .execute();
      await uploads.holdAll(tx, owner);
      const removed = await tx
        .deleteFrom('documents')
        .where('user_id', '=', userId)
        .where('tenant_id', '=', tenantId)
        .where('status', '<>', 'SEALED')
        .executeTakeFirst();
      const sealed = await tx
        .selectFrom('documents')
        .select('storage_key')
        .where('user_id', '=', userId)
        .where('tenant_id', '=', tenantId)
        .execute();
      // The file of a document is an upload still: its object goes with the others.
      const keptKeys = sealed.map(({ storage_key }) => storage_key);
      return {
        documents: Number(removed.numDeletedRows),
        uploads: await uploads.discardAll(tx, owner, keptKeys),
      };
    },
  };
}

/** Throws not_found. */
export async function loadDocument(tx: Tx, id: string): Promise<DocumentRow> {
  const row = await tx.selectFrom('documents').selectAll().where('id', '=', id).executeTakeFirst();
  if (row === undefined) throw new AppError('not_found');
  return row;
}

/** The document, locked until the transaction ends. Throws not_found. */
export async function lockDocument(tx: Tx, id: string): Promise<DocumentRow> {
  const row = await tx
    .selectFrom('documents')
    .selectAll()
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined) throw new AppError('not_found');
  return row;
}

function ownerOf(row: DocumentRow): Owner {
  return { userId: row.user_id, tenantId: row.tenant_id };
}

function toView(row: DocumentRow): View {
  return {
    id: row.id,
    userId: row.user_id,
    encryptedMetadata: row.encrypted_metadata,
    fileHash: row.file_hash,
    status: row.status,
    createdAt: row.created_at,
  };
}
