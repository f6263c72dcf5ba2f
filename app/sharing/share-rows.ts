import { sql, type Selectable } from 'kysely';
import type { z } from 'zod';
import type { Owner, Tx } from '../db/database.ts';
import type { Schema } from '../db/schema.ts';
import { takesLock } from '../db/lock-order.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import { Permissions, type ShareView } from './schema.ts';

export type ShareRow = Selectable<Schema['document_shares']>;
/** A share without the wrapped key, which only its recipient needs. */
type ViewedShare = Pick<
  ShareRow,
  'id' | 'document_id' | 'recipient_ref' | 'permissions' | 'version' | 'expires_at' | 'created_at'
>;

/**
 * Locks the row of a document of the caller for the rest of `tx`, so that the document is not
 * deleted meanwhile, and returns the number of its newest version. Throws not_found.
 */
export async function holdDocument(
  tx: Tx,
  { userId, tenantId }: Owner,
  id: string,
): Promise<number> {
  takesLock(tx, 'document');
  const held = await tx
    .selectFrom('documents')
    .select('version')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .forKeyShare()
    .executeTakeFirst();
  if (held === undefined) throw new AppError('not_found');
  return held.version;
}

/** An account, or none, for which a recipient id of a sharer stands. */
interface KnownRecipient {
  /** Id of the account; null if there is none. */
  readonly userId: string | null;
  /** The fingerprint of the keys that the sharer was shown; null if none were shown. */
  readonly fingerprint: string | null;
}

/** Finds the account for which a recipient id of the sharer stands. */
export async function findRecipient(
  tx: Tx,
  { userId, tenantId }: Owner,
  recipientId: string,
): Promise<KnownRecipient> {
  const recipient = await tx
    .selectFrom('share_recipients')
    .select(['recipient_user_id as userId', 'fingerprint'])
    .where('recipient_ref', '=', recipientId)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .executeTakeFirst();
  return recipient ?? { userId: null, fingerprint: null };
}

/**
 * Inserts a share, or replaces the expired share of the same document with the same recipient.
 * Throws share_exists if that share has not expired.
 */
export async function insertShare(tx: Tx, row: ShareRow): Promise<void> {
  const inserted = await tx
    .insertInto('document_shares')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['document_id', 'recipient_ref'])
        .doUpdateSet(row)
        .where('document_shares.user_id', '=', row.user_id)
        .where('document_shares.tenant_id', '=', row.tenant_id)
        .where('document_shares.expires_at', '<=', sql<Date>`now()`),
    )
    .returning('id')
    .executeTakeFirst();
  if (inserted === undefined) throw new AppError('share_exists');
}

/** Lists the shares of a document of the caller, newest first. Throws not_found. */
export async function listShares(
  tx: Tx,
  caller: Caller,
  documentId: string,
  { limit, cursor }: { readonly limit: number; readonly cursor: string | undefined },
): Promise<ViewedShare[]> {
  const document = await tx
    .selectFrom('documents')
    .select('id')
    .where('id', '=', documentId)
    .where('user_id', '=', caller.userId)
    .where('tenant_id', '=', caller.tenantId)
    .executeTakeFirst();
  if (document === undefined) throw new AppError('not_found');
  let query = tx
    .selectFrom('document_shares')
    .select([
      'id',
      'document_id',
      'recipient_ref',
      'permissions',
      'version',
      'expires_at',
      'created_at',
    ])
    .where('document_id', '=', documentId)
    .where('user_id', '=', caller.userId)
    .where('tenant_id', '=', caller.tenantId)
    .orderBy('id', 'desc')
    .limit(limit);
  if (cursor !== undefined) query = query.where('id', '<', cursor);
  return query.execute();
}

export function toView(row: ViewedShare): z.input<typeof ShareView> {
  return {
    id: row.id,
    documentId: row.document_id,
    recipientId: row.recipient_ref,
    permissions: Permissions.parse(row.permissions),
    version: row.version,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
  };
}
