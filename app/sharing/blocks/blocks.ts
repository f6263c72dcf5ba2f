import { sql } from 'kysely';
import type { z } from 'zod';
import type { Act, Acted } from '../../audit-trail/act.ts';
import { lockName } from '../../db/advisory-lock.ts';
import type { Database, Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import { cutPage } from '../../http/responses/page.ts';
import type { BlockedSender } from './schema.ts';

/** Maximum number of senders that a user may block. */
export const maxBlocks = 1_000;

type Block = z.input<typeof BlockedSender>;

interface PageQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

interface SenderBlocksOptions {
  readonly db: Database;
  readonly act: Act;
}

export type SenderBlocks = ReturnType<typeof createSenderBlocks>;

/**
 * Creates the service with which users block senders. Row-level security hides every share of a
 * blocked sender, and what a sender shares while blocked is addressed to nobody. Nothing tells
 * senders whether they are blocked.
 */
export function createSenderBlocks({ db, act }: SenderBlocksOptions) {
  return {
    /**
     * Blocks a sender, whether or not such a user exists. Repeated calls return the same block.
     * Throws validation_failed for the caller's own id, or quota_exceeded.
     */
    block: (request: ServiceRequest, senderId: string): Promise<Block> =>
      act(request, (tx) => insertBlock(tx, request.caller, senderId)),

    /**
     * Ends a block, so that the caller sees again what the sender had shared before it, but not
     * what the sender shared meanwhile. Throws not_found.
     */
    unblock: (request: ServiceRequest, senderId: string): Promise<void> =>
      act(request, (tx) => deleteBlock(tx, request.caller, senderId)),

    /**
     * Lists the senders whom the caller blocks, in the order of their ids. The returned `cursor` is
     * undefined if no further page exists.
     */
    list: ({ caller }: ServiceRequest, { limit, cursor }: PageQuery) =>
      db.asUser(caller, async (tx) => {
        let query = selectBlocks(tx, caller)
          .orderBy('sender_id')
          .limit(limit + 1);
        if (cursor !== undefined) query = query.where('sender_id', '>', cursor);
        const page = cutPage(await query.execute(), {
          limit,
          cursorOf: ({ senderId }) => senderId,
        });
        return { senders: page.rows, cursor: page.cursor };
      }),

    /**
     * Resolves with whether the user that a recipient id of the caller stands for blocks the
     * caller. Does the same work for every recipient id.
     */
    isBlocked: ({ userId, tenantId }: Caller, recipientId: string): Promise<boolean> =>
      db.asService(async (tx) => {
        // The service login, since users cannot see the blocks of others.
        const { rows } = await sql<{ readonly blocked: boolean }>`
          select exists (
            select from share_recipients r join sender_blocks b
              on b.user_id = r.recipient_user_id and b.tenant_id = r.tenant_id
              and b.sender_id = r.user_id
            where r.user_id = ${userId} and r.tenant_id = ${tenantId}
              and r.recipient_ref = ${recipientId}
          ) as blocked`.execute(tx);
        return rows[0]?.blocked === true;
      }),
  };
}

function selectBlocks(tx: Tx, { userId, tenantId }: Caller) {
  return tx
    .selectFrom('sender_blocks')
    .select(['sender_id as senderId', 'created_at as blockedAt'])
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId);
}

async function insertBlock(tx: Tx, caller: Caller, senderId: string): Promise<Acted<Block>> {
  if (senderId === caller.userId) throw ownId();
  // Counts concurrent requests one after another.
  takesLock(tx, 'sender blocks');
  await lockName(tx, `sender-blocks:${caller.userId}`);
  const present = await selectBlocks(tx, caller)
    .where('sender_id', '=', senderId)
    .executeTakeFirst();
  if (present !== undefined) return { answer: present, events: [] };
  await assertRoom(tx, caller);
  const block = await tx
    .insertInto('sender_blocks')
    .values({ user_id: caller.userId, tenant_id: caller.tenantId, sender_id: senderId })
    .returning(['sender_id as senderId', 'created_at as blockedAt'])
    .executeTakeFirstOrThrow();
  const resource = { type: 'sender', id: senderId } as const;
  return { answer: block, events: [{ action: 'sender.blocked', resource, data: {} }] };
}

async function assertRoom(tx: Tx, { userId, tenantId }: Caller): Promise<void> {
  const { count } = await tx
    .selectFrom('sender_blocks')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .executeTakeFirstOrThrow();
  if (count < maxBlocks) return;
  const message = `at most ${maxBlocks} senders can be blocked; unblock one of them first`;
  throw new AppError('quota_exceeded', {
    details: [{ path: 'blockedSenders', message }],
    retryAfterSeconds: 3600,
  });
}

async function deleteBlock(
  tx: Tx,
  { userId, tenantId }: Caller,
  senderId: string,
): Promise<Acted<void>> {
  const { numDeletedRows } = await tx
    .deleteFrom('sender_blocks')
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('sender_id', '=', senderId)
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw new AppError('not_found');
  const resource = { type: 'sender', id: senderId } as const;
  return { answer: undefined, events: [{ action: 'sender.unblocked', resource, data: {} }] };
}

function ownId(): AppError {
  const details = [{ path: 'senderId', message: 'must not be your own id' }];
  return new AppError('validation_failed', { details });
}
