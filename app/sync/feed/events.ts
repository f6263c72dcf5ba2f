import type { ErrorCode } from '../../errors/error-codes.ts';
import { formatCursor, type Cursor } from '../objects/cursor.ts';

/** An object's latest change, at its place among the changes of its user. */
export interface Change {
  readonly cursor: Cursor;
  readonly objectId: string;
  readonly version: number;
  readonly deleted: boolean;
  /** The device that wrote this version. */
  readonly deviceId: string;
}

/** Why a feed ends: the error code that its next request would get, if any. */
export type EndReason = Extract<
  ErrorCode,
  | 'token_expired'
  | 'invalid_token'
  | 'device_blacklisted'
  | 'database_unavailable'
  | 'internal_error'
  | 'shutting_down'
>;

/** How long a client waits before it reconnects, unless it has a delay of its own. */
const retryMs = 2_000;

/** Keeps proxies and clients from closing a quiet feed as dead. */
export const heartbeat = ':\n\n';

export function readyEvent(cursor: Cursor): string {
  return `retry: ${retryMs}\nevent: ready\nid: ${formatCursor(cursor)}\ndata: {}\n\n`;
}

export function changeEvent({ cursor, ...data }: Change): string {
  return `event: change\nid: ${formatCursor(cursor)}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Returns an event without an id, so that the client's cursor stays as it is. */
export function closeEvent(reason: EndReason): string {
  return `event: close\ndata: ${JSON.stringify({ reason })}\n\n`;
}
