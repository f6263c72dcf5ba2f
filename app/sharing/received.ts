import type { z } from 'zod';
import type { Tx } from '../db/database.ts';
import type { Caller } from '../http/caller.ts';
import { Permissions, type SharedDocument } from './schema.ts';

type View = z.input<typeof SharedDocument>;

/** What others share with the caller, newest share first. */
export async function listReceived(
  tx: Tx,
  caller: Caller,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<View[]> {
  let query = tx
    .selectFrom('document_shares')
    .innerJoin('documents', 'documents.id', 'document_shares.document_id')
    .innerJoin('document_versions', (join) =>
      join
        .onRef('document_versions.document_id', '=', 'documents.id')
        .onRef('document_versions.version', '=', 'documents.version'),
    )
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
    // Row-level security alone would also show what the caller gave.
    .where('document_shares.recipient_user_id', '=', caller.userId)
    .orderBy('document_shares.id', 'desc')
    .limit(limit);
  if (cursor !== undefined) query = query.where('document_shares.id', '<', cursor);
  const rows = await query.execute();
  return rows.map(({ permissions, ...row }) =>
    Object.assign(row, { permissions: Permissions.parse(permissions) }),
  );
}
