import { z } from 'zod';
import type { Http } from '../http/http.ts';
import { listPages } from '../http/pages.ts';

const routePath = '/v1/documents/shared/blocked-senders';

const BlockedSender = z.object({ senderId: z.uuid(), blockedAt: z.iso.datetime() });

/** A user whose shares this user does not see. */
export type BlockedSender = z.output<typeof BlockedSender>;

/** The senders whom the user blocks. Nothing tells senders that they are blocked. */
export interface BlockedSenders {
  /**
   * Blocks the sender of a share by its `ownerId`. While the block lasts, this user sees nothing
   * that the sender shares. Idempotent. Throws VaultError 429 quota_exceeded for more than 1,000
   * blocked senders.
   */
  blockSender(ownerId: string): Promise<BlockedSender>;
  /**
   * Ends a block. This user sees again what the sender had shared before the block; what the sender
   * shared during it stays unseen until it is shared again. Throws VaultError 404 not_found.
   */
  unblockSender(ownerId: string): Promise<void>;
  /** Lists the blocked senders, in the order of their ids. */
  listBlockedSenders(options?: {
    readonly pageSize?: number;
  }): AsyncGenerator<BlockedSender, void, void>;
}

export function createBlockedSenders({ http }: { readonly http: Http }): BlockedSenders {
  const pathOf = (ownerId: string) => `${routePath}/${encodeURIComponent(ownerId)}`;
  return {
    blockSender(ownerId) {
      return http.json(BlockedSender, { method: 'PUT', path: pathOf(ownerId) });
    },
    async unblockSender(ownerId) {
      await http.send({ method: 'DELETE', path: pathOf(ownerId) });
    },
    listBlockedSenders({ pageSize } = {}) {
      return listPages(http, BlockedSender, routePath, pageSize);
    },
  };
}
