import type { ErrorCode } from '../../errors/error-codes.ts';
import { retryMs } from '../../sessions/streams/stream-life.ts';
import { formatCursor, type Cursor } from '../objects/cursor.ts';

/**
 * The latest change of an object. `cursor` is the position of the change among the changes of the
 * object's user.
 */
export interface Change {
  readonly cursor: Cursor;
  readonly objectId: string;
  readonly version: number;
  readonly deleted: boolean;
  /** The device that wrote this version. */
  readonly deviceId: string;
}

/**
 * The reason for which the server ends a feed: an error code, which the client's next request would
 * also get if the reason still applies.
 */
export type EndReason = Extract<
  ErrorCode,
  | 'token_expired'
  | 'invalid_token'
  | 'device_blacklisted'
  | 'database_unavailable'
  | 'internal_error'
  | 'shutting_down'
>;

export function readyEvent(cursor: Cursor): string {
  return `retry: ${retryMs}\nevent: ready\nid: ${formatCursor(cursor)}\ndata: {}\n\n`;
}

export function changeEvent({ cursor, ...data }: Change): string {
  return `event: change\nid: ${formatCursor(cursor)}\ndata: ${JSON.stringify(data)}\n\n`;
}
