import type { ErrorCode } from '../../errors/error-codes.ts';
import { formatCursor, type Cursor } from '../objects/cursor.ts';

/** An object's latest change, at its place among the changes of its user. */
export interface Change {
  readonly cursor: Cursor;
  readonly objectId: string;
  readonly version: number;
  readonly deleted: boolean;
  /** Who wrote this version. */
  readonly deviceId: string;
}

/** Why a feed ends: what its next request would be refused with, if any. */
export type EndReason = Extract<
  ErrorCode,
  | 'token_expired'
  | 'invalid_token'
  | 'device_blacklisted'
  | 'database_unavailable'
  | 'internal_error'
  | 'shutting_down'
>;

/** How long clients that know no better wait before they come again. */
const retryMs = 2_000;

/** Keeps proxies and clients from taking a quiet feed for a dead one. */
export const heartbeat = ':\n\n';

export function readyEvent(cursor: Cursor): string {
  return `retry: ${retryMs}\nevent: ready\nid: ${formatCursor(cursor)}\ndata: {}\n\n`;
}

export function changeEvent({ cursor, ...data }: Change): string {
  return `event: change\nid: ${formatCursor(cursor)}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Without an id: the cursor stays what it was. */
export function closeEvent(reason: EndReason): string {
  return `event: close\ndata: ${JSON.stringify({ reason })}\n\n`;
}
