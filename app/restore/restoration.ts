import { sql } from 'kysely';
import { lockName } from '../db/advisory-lock.ts';
import type { Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import { beginEpoch } from '../sync/objects/epoch.ts';
import { nobody, type AuditEvent, type EventData } from '../audit-trail/event.ts';
import type { AuditTrail } from '../audit-trail/audit-trail.ts';

const resourceType = 'vault';

/** A state of the vault that lacks something and was accepted. */
export interface Restoration {
  /** The id of the high-water mark by which the state was accepted. */
  readonly markId: string;
  readonly losses: readonly string[];
  /** How many entries the database had sealed. */
  readonly sealed: number;
}

/** Begins one epoch and leaves one entry for a restoration, however many processes start on it. */
export async function recordRestoration(
  tx: Tx,
  audit: AuditTrail,
  { markId, losses, sealed }: Restoration,
): Promise<void> {
  takesLock(tx, 'restoration');
  await lockName(tx, 'restoration');
  const recorded = await tx
    .selectFrom('audit_sequences')
    .select('last_seq')
    .where('user_id', '=', nobody.userId)
    .where('resource_type', '=', resourceType)
    .where('resource_id', '=', markId)
    .executeTakeFirst();
  if (recorded !== undefined) return;
  const epoch = await beginEpoch(tx);
  const data = { mark: markId, missing: losses.join('; '), sealed, epoch };
  await audit.append(tx, restored('marks', markId, data));
}

/**
 * Records a restore that the operator reported (`probatio restored`), whatever the high-water marks
 * show. Returns the new epoch.
 */
export async function recordRestore(tx: Tx, audit: AuditTrail): Promise<string> {
  const epoch = await beginEpoch(tx);
  await audit.append(tx, restored('cli', epoch, { epoch }));
  return epoch;
}

function restored(
  by: 'marks' | 'cli',
  id: string,
  data: EventData<'vault.restored'>,
): AuditEvent<'vault.restored'> {
  return {
    action: 'vault.restored',
    actor: { type: 'system', id: by },
    owner: nobody,
    resource: { type: resourceType, id },
    requestId: null,
    data,
  };
}

/** Tells whether a restoration was accepted, or a restore reported, in the last `days`. */
export async function wasRestored(tx: Tx, days: number): Promise<boolean> {
  const entry = await tx
    .selectFrom('audit_entries')
    .select('id')
    .where('user_id', '=', nobody.userId)
    .where('resource_type', '=', resourceType)
    .where('created_at', '>', sql<Date>`now() - make_interval(days => ${days})`)
    .limit(1)
    .executeTakeFirst();
  return entry !== undefined;
}
