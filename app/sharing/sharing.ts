import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import { byOwner } from '../trail/event.ts';
import type { AuditTrail } from '../trail/trail.ts';
import type { Clock } from '../async/clock.ts';
import type { Database, Owner, Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { Idempotency } from '../http/routing/idempotency.ts';
import { listReceived, type ReceivedPage } from './received.ts';
import type { Recipients } from './recipients.ts';
import { removeSharing, type RemovedSharing } from './removal.ts';
import type { CreateShare, ShareView } from './schema.ts';
import { findRecipient, holdDocument, insertShare, listShares, toView } from './share-rows.ts';

type NewShare = z.output<typeof CreateShare>;
type Share = z.input<typeof ShareView>;

interface Page {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** What owners let others see of their documents; row-level security shows it to those. */
export interface Sharing {
  /**
   * Shares a document of the caller's with a recipient who may or may not exist. A share that has
   * ended is replaced. Throws not_found, share_exists, validation_failed, and what
   * `Recipients.find` throws.
   */
  share(
    caller: Caller,
    documentId: string,
    input: NewShare,
    requestId: string,
    idempotency?: Idempotency<Share>,
  ): Promise<Share>;
  /** Newest first, ended ones too; `cursor` is undefined after the last page. Throws not_found. */
  list(
    caller: Caller,
    documentId: string,
    page: Page,
  ): Promise<{ shares: Share[]; cursor: string | undefined }>;
  /** Ends a share at once, whatever the state of the audit backlog. Throws not_found. */
  unshare(
    caller: Caller,
    at: { readonly id: string; readonly shareId: string },
    requestId: string,
  ): Promise<void>;
  /** What others share with the caller, newest first. */
  listReceived(caller: Caller, page: Page): Promise<ReceivedPage>;
  /** Ends all that an owner gave, got and shared by, in the service's transaction. */
  removeAll(tx: Tx, owner: Owner): Promise<RemovedSharing>;
}

interface SharingOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly recipients: Recipients;
  readonly clock: Clock;
}

export function createSharing({ db, audit, recipients, clock }: SharingOptions): Sharing {
  async function identify(caller: Caller, input: NewShare): Promise<string> {
    const { recipientEmail, recipientId } = input;
    if (recipientId !== undefined && recipientEmail === undefined) return recipientId;
    if (recipientEmail !== undefined && recipientId === undefined) {
      return (await recipients.find(caller, recipientEmail)).recipientId;
    }
    throw invalid('recipientId', 'either this or recipientEmail is required');
  }

  return {
    async share(caller, documentId, input, requestId, idempotency) {
      audit.assertWritable();
      const { expiresAt = null, permissions, wrappedKey } = input;
      const now = clock();
      if (expiresAt !== null && expiresAt <= now) throw invalid('expiresAt', 'must be to come');
      const recipientId = await identify(caller, input);
      return db.asUser(caller, async (tx) => {
        await holdDocument(tx, documentId);
        const row = {
          id: uuidv7(),
          user_id: caller.userId,
          tenant_id: caller.tenantId,
          document_id: documentId,
          recipient_ref: recipientId,
          recipient_user_id: await findRecipient(tx, recipientId),
          wrapped_key: wrappedKey,
          permissions,
          expires_at: expiresAt,
          created_at: now,
        };
        await insertShare(tx, row);
        const view = toView(row);
        await idempotency?.keep(tx, view);
        await audit.append(tx, {
          action: 'document.shared',
          ...byOwner(caller, requestId),
          resource: { type: 'document', id: documentId },
          data: {
            shareId: row.id,
            recipientId,
            permissions: permissions.join(' '),
            expiresAt: expiresAt?.toISOString() ?? null,
          },
        });
        return view;
      });
    },

    list: (caller, documentId, { limit, cursor }) =>
      db.asUser(caller, async (tx) => {
        const rows = await listShares(tx, caller, documentId, { limit: limit + 1, cursor });
        const shares = rows.slice(0, limit).map(toView);
        return { shares, cursor: rows.length > limit ? shares.at(-1)?.id : undefined };
      }),

    unshare: (caller, { id, shareId }, requestId) =>
      db.asUser(caller, async (tx) => {
        const removed = await tx
          .deleteFrom('document_shares')
          .where('id', '=', shareId)
          .where('document_id', '=', id)
          .returning('recipient_ref')
          .executeTakeFirst();
        if (removed === undefined) throw new AppError('not_found');
        await audit.append(tx, {
          action: 'document.unshared',
          ...byOwner(caller, requestId),
          resource: { type: 'document', id },
          data: { shareId, recipientId: removed.recipient_ref },
        });
      }),

    listReceived: (caller, page) => db.asUser(caller, (tx) => listReceived(tx, caller, page)),

    removeAll: removeSharing,
  };
}

function invalid(path: string, message: string): AppError {
  return new AppError('validation_failed', { details: [{ path, message }] });
}
