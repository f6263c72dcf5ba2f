import { sql } from 'kysely';
import type { z } from 'zod';
import type { Acted } from '../audit-trail/act.ts';
import type { Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import { cutPage } from '../http/responses/page.ts';
import { fingerprintOf, type PublicIdentity } from '../identities/public-identity.ts';
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
    .select('document_shares.id')
    .select(sql<number>`octet_length(encrypted_metadata) + octet_length(wrapped_key)`.as('bytes'))
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
      'document_shares.version',
      'document_shares.expires_at as expiresAt',
      'document_shares.created_at as createdAt',
      'document_shares.signature',
      'document_shares.sharer_public_key as publicKey',
      'document_shares.sharer_signing_key as signingKey',
      'document_versions.encrypted_metadata as encryptedMetadata',
      'document_versions.file_hash as fileHash',
      'document_versions.status',
    ])
    .where(sql<boolean>`document_shares.id = any (${ids}::uuid[])`)
    .execute();
  return {
    documents: rows.map(({ permissions, publicKey, signingKey, ...row }) =>
      Object.assign(row, {
        permissions: Permissions.parse(permissions),
        sharer:
          publicKey === null || signingKey === null ? null : viewOf({ publicKey, signingKey }),
      }),
    ),
    cursor: page.cursor,
  };
}

function viewOf(identity: PublicIdentity) {
  return { ...identity, fingerprint: fingerprintOf(identity) };
}

/** Removes the recipient of a share that the caller received. Throws not_found. */
export async function removeReceived(
  tx: Tx,
  { userId, tenantId }: Caller,
  shareId: string,
): Promise<Acted<void>> {
  takesLock(tx, 'share');
  // The row stays: a missing share would tell the sharer that somebody removed it.
  const removed = await tx
    .updateTable('document_shares')
    .set({ recipient_user_id: null })
    .where('id', '=', shareId)
    .where('recipient_user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .returning('document_id as documentId')
    .executeTakeFirst();
  if (removed === undefined) throw new AppError('not_found');
  const resource = { type: 'share', id: shareId } as const;
  return { answer: undefined, events: [{ action: 'share.removed', resource, data: removed }] };
}

/** Selects the shares whose recipient is the caller, with the versions that they show. */
function selectReceived(tx: Tx, caller: Caller) {
  return (
    tx
      .selectFrom('document_shares')
      .innerJoin('documents', 'documents.id', 'document_shares.document_id')
      .innerJoin('document_versions', (join) =>
        join
          .onRef('document_versions.document_id', '=', 'documents.id')
          .on(
            'document_versions.version',
            '=',
            sql<number>`coalesce(document_shares.version, documents.version)`,
          ),
      )
      // Row-level security alone would also show the shares that the caller gave.
      .where('document_shares.recipient_user_id', '=', caller.userId)
      .where('document_shares.tenant_id', '=', caller.tenantId)
      .orderBy('document_shares.id', 'desc')
  );
}
