import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import type { Clock } from '../async/clock.ts';
import type { Database, Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import { cutPage } from '../http/responses/page.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import { backlogChecked, type Act, type Acted } from '../audit-trail/act.ts';
import type { SenderBlocks } from './blocks/blocks.ts';
import { loadVersion, statedVersion } from '../documents/records/document-rows.ts';
import { selectIdentity, type SharingKeyRow } from '../identities/identity-rows.ts';
import { listReceived, removeReceived, type ReceivedPage } from './received.ts';
import type { Recipients } from './recipients.ts';
import type { CreateShare, ShareView } from './schema.ts';
import type { AuthorStatement } from '../statements/schema.ts';
import type { Authored, Statements } from '../statements/statements.ts';
import {
  findRecipient,
  holdDocument,
  insertShare,
  listShares,
  toView,
  type ShareRow,
} from './share-rows.ts';

type NewShare = z.output<typeof CreateShare>;
type Share = z.input<typeof ShareView>;

interface PageQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** A share that its sharer ends, and what the sharer states of that. */
interface EndedShare {
  /** Id of the document. */
  readonly id: string;
  readonly shareId: string;
  readonly stated: AuthorStatement | undefined;
}

interface SharingOptions {
  readonly db: Database;
  readonly act: Act;
  readonly statements: Statements;
  readonly recipients: Recipients;
  readonly senderBlocks: Pick<SenderBlocks, 'isBlocked'>;
  readonly clock: Clock;
}

export type Sharing = ReturnType<typeof createSharing>;

/**
 * Creates the service with which owners share documents. Row-level security makes a shared document
 * visible to its recipients.
 */
export function createSharing(options: SharingOptions) {
  const { db, act, statements, recipients, senderBlocks, clock } = options;

  /**
   * Returns the recipient id of a new share, which the input contains or which is looked up by the
   * e-mail address in the input. Throws validation_failed unless the input has exactly one of the
   * two.
   */
  async function identify(request: ServiceRequest, input: NewShare): Promise<string> {
    const { recipientEmail, recipientId } = input;
    if (recipientId !== undefined && recipientEmail === undefined) return recipientId;
    if (recipientEmail !== undefined && recipientId === undefined) {
      return (await recipients.find(request, recipientEmail)).recipientId;
    }
    throw invalid('recipientId', 'exactly one of recipientId and recipientEmail is required');
  }

  return {
    /**
     * Shares a document of the caller with a recipient, who may or may not exist. If the recipient
     * blocks the caller, the share is made for nobody, with the same answer. Replaces an expired
     * share of the document with the same recipient, and ends the share that the input names.
     * Throws not_found, also if that share is not found, share_exists, validation_failed,
     * statement_invalid, and the errors of `Recipients.find`.
     */
    async share(request: ServiceRequest, documentId: string, input: NewShare): Promise<Share> {
      act.assertWritable(request);
      const { expiresAt } = input;
      const now = clock();
      if (expiresAt !== undefined && expiresAt <= now) {
        throw invalid('expiresAt', 'must be in the future');
      }
      const recipientId = await identify(request, input);
      const isBlocked = await senderBlocks.isBlocked(request.caller, recipientId);
      const shareDocument = async (tx: Tx) => {
        const { caller } = request;
        const newest = await holdDocument(tx, caller, documentId);
        if ((input.version ?? 1) > newest) throw invalid('version', 'the document has no such one');
        const ended = await endReplaced(tx, caller, { id: documentId, shareId: input.replaces });
        const { userId, fingerprint } = await findRecipient(tx, caller, recipientId);
        const recipient = { id: recipientId, userId: isBlocked ? null : userId };
        const sharer = await selectIdentity(tx, caller).executeTakeFirst();
        const row = newRow(caller, { ...input, documentId, recipient, sharer, now });
        await insertShare(tx, row);
        const shared = { id: documentId, version: input.version ?? newest };
        const author = await statements.verify(tx, caller, input.authorStatement, async () => ({
          action: 'document.shared',
          ...statedVersion(await loadVersion(tx, caller, shared)),
          recipientFingerprint: fingerprint,
          sharedVersion: row.version,
        }));
        const event = sharedEvent(row, fingerprint, author);
        return { answer: toView(row), events: [...ended, event] };
      };
      return act(request, shareDocument, backlogChecked);
    },

    /**
     * Lists the shares of a document of the caller, newest first, including expired shares. The
     * returned `cursor` is undefined if no further page exists. Throws not_found.
     */
    list: ({ caller }: ServiceRequest, documentId: string, { limit, cursor }: PageQuery) =>
      db.asUser(caller, async (tx) => {
        const rows = await listShares(tx, caller, documentId, { limit: limit + 1, cursor });
        const page = cutPage(rows, { limit, cursorOf: ({ id }) => id });
        return { shares: page.rows.map(toView), cursor: page.cursor };
      }),

    /**
     * Removes a share with immediate effect, even while the audit backlog is full. Throws
     * not_found or statement_invalid.
     */
    unshare: (request: ServiceRequest, { stated, ...share }: EndedShare): Promise<void> => {
      const { caller } = request;
      const { id, shareId } = share;
      const end = async (tx: Tx): Promise<Acted<void>> => {
        const author = await statements.verify(tx, caller, stated, async () => {
          const version = await holdDocument(tx, caller, id);
          const newest = statedVersion(await loadVersion(tx, caller, { id, version }));
          return { action: 'document.unshared', ...newest, shareId };
        });
        return removeShare(tx, caller, share, author);
      };
      return act(request, end, { evenWithFullBacklog: true });
    },

    /** Lists the documents that other users share with the caller, newest share first. */
    listReceived: ({ caller }: ServiceRequest, query: PageQuery): Promise<ReceivedPage> =>
      db.asUser(caller, (tx) => listReceived(tx, caller, query)),

    /**
     * Removes a share from the list of its recipient, who can no longer read the document by it.
     * The sharer's list does not change. Throws not_found.
     */
    removeReceived: (request: ServiceRequest, shareId: string): Promise<void> =>
      // The service login, since row-level security lets only sharers change shares.
      act.asService(request, (tx) => removeReceived(tx, request.caller, shareId)),
  };
}

interface RowInput extends Pick<
  NewShare,
  'permissions' | 'wrappedKey' | 'expiresAt' | 'version' | 'signature'
> {
  readonly documentId: string;
  readonly recipient: { readonly id: string; readonly userId: string | null };
  readonly sharer: SharingKeyRow | undefined;
  readonly now: Date;
}

function newRow({ userId, tenantId }: Caller, input: RowInput): ShareRow {
  return {
    id: uuidv7(),
    user_id: userId,
    tenant_id: tenantId,
    document_id: input.documentId,
    recipient_ref: input.recipient.id,
    recipient_user_id: input.recipient.userId,
    wrapped_key: input.wrappedKey,
    permissions: input.permissions,
    expires_at: input.expiresAt ?? null,
    created_at: input.now,
    version: input.version ?? null,
    signature: input.signature ?? null,
    sharer_public_key: input.sharer?.public_key ?? null,
    sharer_signing_key: input.sharer?.signing_key ?? null,
  };
}

/** Ends the share that a new one replaces, if any, and returns the events. Throws not_found. */
async function endReplaced(
  tx: Tx,
  caller: Caller,
  { id, shareId }: { readonly id: string; readonly shareId: string | undefined },
) {
  if (shareId === undefined) return [];
  return (await removeShare(tx, caller, { id, shareId })).events;
}

async function removeShare(
  tx: Tx,
  { userId, tenantId }: Caller,
  { id: documentId, shareId }: { readonly id: string; readonly shareId: string },
  author: Authored = {},
): Promise<Acted<void>> {
  const removed = await tx
    .deleteFrom('document_shares')
    .where('id', '=', shareId)
    .where('document_id', '=', documentId)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .returning('recipient_ref')
    .executeTakeFirst();
  if (removed === undefined) throw new AppError('not_found');
  const unshared = {
    action: 'document.unshared',
    resource: { type: 'document', id: documentId },
    data: { shareId, recipientId: removed.recipient_ref, ...author },
  } as const;
  return { answer: undefined, events: [unshared] };
}

function sharedEvent(row: ShareRow, recipientFingerprint: string | null, author: Authored) {
  return {
    action: 'document.shared',
    resource: { type: 'document', id: row.document_id },
    data: {
      shareId: row.id,
      recipientId: row.recipient_ref,
      recipientFingerprint,
      version: row.version,
      permissions: row.permissions.join(' '),
      expiresAt: row.expires_at?.toISOString() ?? null,
      signed: row.signature !== null,
      ...author,
    },
  } as const;
}

function invalid(path: string, message: string): AppError {
  return new AppError('validation_failed', { details: [{ path, message }] });
}
