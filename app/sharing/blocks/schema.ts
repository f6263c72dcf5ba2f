import { z } from 'zod';
import { Limit, Timestamp, Uuid } from '../../http/bodies/wire.ts';

/** A sender by id, which is the `ownerId` of what they share. */
export const SenderId = z.strictObject({ senderId: Uuid });

export const BlockedSender = z
  .strictObject({ senderId: Uuid, blockedAt: Timestamp })
  .meta({ id: 'BlockedSender' });

export const BlockedSenderList = z.array(BlockedSender);

export const BlockedSenderPage = z.strictObject({ limit: Limit, cursor: Uuid.optional() });
