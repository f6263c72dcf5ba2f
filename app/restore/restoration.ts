import { sql } from 'kysely';
import { lockName } from '../db/advisory-lock.ts';
import type { Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import { takeRecording } from './acceptances.ts';
import { beginEpoch } from '../sync/objects/epoch.ts';
import { nobody, type AuditEvent, type EventData } from '../audit-trail/event.ts';
import type { AuditTrail } from '../audit-trail/audit-trail.ts';
import { selectTrailsOf } from '../audit-trail/trails.ts';

const resourceType = 'vault';

/** A state of the vault that lacks something and that an operator accepted. */
export interface Restoration {
  /** The id of the high-water mark by which the operator accepted the state. */
  readonly markId: string;
  readonly losses: readonly string[];
  /** The number of sealed entries in the database at the start. */
  readonly sealed: number;
}

/**
 * Begins a new epoch and appends an audit entry for a restoration. Has no effect if another process
 * has already recorded it.
 */
export async function recordRestoration(
  tx: Tx,
  audit: AuditTrail,
  { markId, losses, sealed }: Restoration,
): Promise<void> {
  takesLock(tx, 'restoration');
  await lockName(tx, 'restoration');
  if (!((await takeRecording(tx, markId)) ?? !(await isRecorded(tx, markId)))) return;
  const epoch = await beginEpoch(tx);
  const data = { mark: markId, missing: losses.join('; '), sealed, epoch };
  await audit.append(tx, restored('marks', markId, data));
}

/** Returns whether some restoration was recorded by this high-water mark. */
async function isRecorded(tx: Tx, markId: string): Promise<boolean> {
  const recorded = await selectTrailsOf(tx, nobody, resourceType)
    .where('resource_id', '=', markId)
    .executeTakeFirst();
  return recorded !== undefined;
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

/**
 * Returns whether an operator accepted a restoration or reported a restore in the last `days` days.
 */
export async function wasRestored(tx: Tx, days: number): Promise<boolean> {
  const entry = await tx
    .selectFrom('audit_entries')
    .select('id')
    .where('trail_id', '=', sql<number>`any(array(${selectTrailsOf(tx, nobody, resourceType)}))`)
    .where('created_at', '>', sql<Date>`now() - make_interval(days => ${days})`)
    .limit(1)
    .executeTakeFirst();
  return entry !== undefined;
}
