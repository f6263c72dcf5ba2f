import { randomBytes } from 'node:crypto';
import { NIL, v7 as uuidv7 } from 'uuid';
import { z } from 'zod';
import type { AuditEntry } from '../../../signer/protocol/entry.ts';
import { nobody, type AuditAction } from '../../trail/event.ts';
import { canonicalText } from '../../json/canonical-text.ts';
import { KeyId } from '../../http/bodies/wire.ts';

/** What the log was at a moment. */
export interface LogState {
  /** How many entries were ever sealed. */
  readonly sealed: number;
  /** The newest of them; null before the first. */
  readonly newestEntryId: string | null;
  /** Every key that was registered. */
  readonly keyIds: readonly string[];
}

/** A state of the log that the vault signed and put beside its objects: a later log has all of it. */
export interface Mark extends LogState {
  /** UUIDv7: a later mark has a greater one. */
  readonly id: string;
  readonly writtenAt: string;
}

/** Less than every mark's. */
export const noMark = NIL;

const action = 'vault.marked' satisfies AuditAction;

const KeyIds = z
  .string()
  .transform((text) => (text === '' ? [] : text.split(' ')))
  .pipe(z.array(KeyId));

const MarkEntry = z
  .object({
    id: z.guid(),
    timestamp: z.iso.datetime(),
    action: z.literal(action),
    data: z.strictObject({
      sealed: z.int().nonnegative(),
      newestEntryId: z.guid().nullable(),
      keyIds: KeyIds,
    }),
  })
  .transform(({ id, timestamp, data }): Mark => ({ id, writtenAt: timestamp, ...data }));

/** The id of a mark that is later than `floor`, whatever the clock says. */
export function createMarkId(floor: string, now: Date): string {
  const floorMs = Number.parseInt(floor.replaceAll('-', '').slice(0, 12), 16);
  return uuidv7({ msecs: Math.max(now.getTime(), floorMs + 1) });
}

/**
 * The text of a mark: an audit entry of a resource of its own, which is not in the log. So the audit
 * key signs it as it signs every entry, and it is verified as they are.
 */
export function createMarkText(id: string, { keyIds, ...state }: LogState, at: Date): string {
  const entry: AuditEntry = {
    v: 1,
    id,
    timestamp: at.toISOString(),
    actor: { type: 'system', id: 'marks' },
    tenant: nobody.tenantId,
    action,
    resource: { type: 'mark', id, owner: nobody.userId },
    seq: 1,
    outcome: 'success',
    requestId: null,
    data: { ...state, keyIds: keyIds.join(' ') },
    salt: randomBytes(32).toString('base64'),
  };
  return canonicalText(entry);
}

/** Undefined for the text of any other entry. */
export function parseMarkText(text: string): Mark | undefined {
  return MarkEntry.safeParse(JSON.parse(text)).data;
}
