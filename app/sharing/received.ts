import { sql } from 'kysely';
import type { z } from 'zod';
import type { Tx } from '../db/database.ts';
import type { Caller } from '../http/requests/caller.ts';
import { cutPage } from '../http/responses/page.ts';
import { Permissions, type SharedDocument } from './schema.ts';

/**
 * A page of documents shared with the caller. `cursor` is the id of the last share on this page, or
 * undefined if no further page exists.
 */
export interface ReceivedPage {
  readonly documents: z.input<typeof SharedDocument>[];
  readonly cursor: string | undefined;
}

/** Lists the documents that other users share with the caller, newest share first. */
export async function listReceived(
  tx: Tx,
  caller: Caller,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<ReceivedPage> {
  let query = selectReceived(tx, caller)
    .select(['document_shares.id', sql<number>`octet_length(encrypted_metadata)`.as('bytes')])
    .limit(limit + 1);
  if (cursor !== undefined) query = query.where('document_shares.id', '<', cursor);
  const page = cutPage(await query.execute(), {
    limit,
    cursorOf: ({ id }) => id,
    bytesOf: ({ bytes }) => bytes,
  });
  const ids = page.rows.map(({ id }) => id);
  const rows = await selectReceived(tx, caller)
    .select([
      'document_shares.id as shareId',
      'document_shares.document_id as documentId',
      'document_shares.user_id as ownerId',
      'document_shares.wrapped_key as wrappedKey',
      'document_shares.permissions',
      'document_shares.expires_at as expiresAt',
      'document_shares.created_at as createdAt',
      'document_versions.encrypted_metadata as encryptedMetadata',
      'document_versions.file_hash as fileHash',
      'document_versions.status',
    ])
    .where(sql<boolean>`document_shares.id = any (${ids}::uuid[])`)
    .execute();
  return {
    documents: rows.map(({ permissions, ...row }) =>
      Object.assign(row, { permissions: Permissions.parse(permissions) }),
    ),
    cursor: page.cursor,
  };
}

/** Selects the shares whose recipient is the caller, with the current versions of the documents. */
function selectReceived(tx: Tx, caller: Caller) {
  return (
    tx
      .selectFrom('document_shares')
      .innerJoin('documents', 'documents.id', 'document_shares.document_id')
      .innerJoin('document_versions', (join) =>
        join
          .onRef('document_versions.document_id', '=', 'documents.id')
          .onRef('document_versions.version', '=', 'documents.version'),
      )
      // Row-level security alone would also show the shares that the caller gave.
      .where('document_shares.recipient_user_id', '=', caller.userId)
      .where('document_shares.tenant_id', '=', caller.tenantId)
      .orderBy('document_shares.id', 'desc')
  );
}
