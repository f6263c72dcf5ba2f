import { sql } from 'kysely';
import { nobody, type AuditEvent } from '../trail/event.ts';
import type { AuditTrail } from '../trail/trail.ts';
import { lockName } from '../db/advisory-lock.ts';
import type { Tx } from '../db/database.ts';
import { beginEpoch } from '../sync/objects/epoch.ts';

const resourceType = 'vault';

/** A state that lacks something and was accepted. */
export interface Restoration {
  /** By which it was accepted. */
  readonly markId: string;
  readonly losses: readonly string[];
  /** How many entries the database had sealed. */
  readonly sealed: number;
}

/** Begins one epoch and leaves one entry of a restoration, however many processes start on it. */
export async function recordRestoration(
  tx: Tx,
  audit: AuditTrail,
  { markId, losses, sealed }: Restoration,
): Promise<void> {
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

/** The same of a restore that the operator tells of, whatever the marks know. Answers the epoch. */
export async function recordRestore(tx: Tx, audit: AuditTrail): Promise<string> {
  const epoch = await beginEpoch(tx);
  await audit.append(tx, restored('cli', epoch, { epoch }));
  return epoch;
}

function restored(by: string, id: string, data: AuditEvent['data']): AuditEvent {
  return {
    action: 'vault.restored',
    actor: { type: 'system', id: by },
    owner: nobody,
    resource: { type: resourceType, id },
    requestId: null,
    data,
  };
}

/** Whether a restoration was accepted, or told of, in the last `days`. */
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
