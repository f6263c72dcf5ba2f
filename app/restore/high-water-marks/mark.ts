import { randomBytes } from 'node:crypto';
import { NIL, v7 as uuidv7 } from 'uuid';
import type { AuditEntry } from '../../../signer/protocol/entry.ts';
import { MarkEntry } from '../../../signer/protocol/mark-entry.ts';
import { markAction } from '../../../signer/protocol/reserved-actions.ts';
import { nobody } from '../../audit-trail/event.ts';
import { canonicalText } from '../../json/canonical-text.ts';

/** The state of the audit log at one moment. */
export interface LogState {
  /** The number of entries that were ever sealed. */
  readonly sealed: number;
  /** The id of the newest sealed entry; null if no entry was ever sealed. */
  readonly newestEntryId: string | null;
  /** The ids of all registered keys. */
  readonly keyIds: readonly string[];
}

/**
 * A high-water mark: a signed record, kept in the object store, of the state of the audit log at
 * one moment. Every later state of the log contains everything that the mark names.
 */
export interface Mark extends LogState {
  /** UUIDv7; a later high-water mark has a greater id. */
  readonly id: string;
  readonly writtenAt: string;
}

/** Stands for the absence of a high-water mark; less than the id of every mark. */
export const noMark = NIL;

/**
 * Returns an id for a new high-water mark that is greater than `floor`, whatever the clock says.
 */
export function createMarkId(floor: string, now: Date): string {
  return uuidv7({ msecs: Math.max(now.getTime(), msOf(floor) + 1) });
}

/** Returns the time of a high-water mark; undefined for noMark. */
export function timeOfMark(id: string): Date | undefined {
  return id === noMark ? undefined : new Date(msOf(id));
}

/** Returns the milliseconds since 1970 that a UUIDv7 begins with. */
function msOf(id: string): number {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
}

interface MarkStamp {
  readonly id: string;
  /** The vault's public URL. */
  readonly issuer: string;
  readonly at: Date;
}

/**
 * Returns the text of a high-water mark, to which the signer adds members: an audit entry of a
 * resource of its own, which is never added to the log. The audit key can therefore sign the mark,
 * and the mark's audit proof verifies as the proofs of other entries do.
 */
export function createMarkText(
  { id, issuer, at }: MarkStamp,
  { keyIds, ...state }: LogState,
): string {
  const entry: AuditEntry = {
    v: 2,
    id,
    issuer,
    timestamp: at.toISOString(),
    actor: { type: 'system', id: 'marks' },
    tenant: nobody.tenantId,
    action: markAction,
    resource: { type: 'mark', id, owner: nobody.userId },
    seq: 1,
    outcome: 'success',
    requestId: null,
    data: { ...state, keyIds: keyIds.join(' ') },
    salt: randomBytes(32).toString('base64'),
  };
  return canonicalText(entry);
}

/** Parses the text of a high-water mark; returns undefined for any other entry. */
export function parseMarkText(text: string): Mark | undefined {
  const entry = MarkEntry.safeParse(JSON.parse(text)).data;
  if (entry === undefined) return undefined;
  const { id, timestamp, data } = entry;
  return { id, writtenAt: timestamp, ...data };
}
