import { z } from 'zod';
import { Limit, Timestamp, Uuid, UuidCursor } from '../../http/bodies/wire.ts';

/** A sender by id, which is the `ownerId` of what they share. */
const senderId = Uuid.describe('Id of the sender: the `ownerId` of what they share.');

export const SenderId = z.strictObject({ senderId });

export const BlockedSender = z
  .strictObject({ senderId, blockedAt: Timestamp.describe('When the sender was blocked.') })
  .meta({ id: 'BlockedSender' });

export const BlockedSenderList = z.array(BlockedSender);

export const BlockedSenderPage = z.strictObject({ limit: Limit, cursor: UuidCursor });
