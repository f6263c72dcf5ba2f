import { sql, type Selectable } from 'kysely';
import type { Clock } from '../../async/clock.ts';
import { ofQueue, type Database, type Tx } from '../../db/database.ts';
import type { Schema } from '../../db/schema.ts';
import type { AuditAction, AuditEvent } from '../../audit-trail/event.ts';
import type { Room } from './room.ts';
import type { TalliedEvent } from './tallied-event.ts';
import type { AuditTrail } from '../../audit-trail/audit-trail.ts';

type TallyRow = Selectable<Schema['audit_tallies']>;

const batchSize = 200;
/** Time after the end of a minute in which events of that minute may still be counted. */
const graceMs = 5_000;

/** The counted actions whose outcome is a failure. */
const failures: ReadonlySet<string> = new Set<AuditAction>(['auth.login_failed', 'mfa.failed']);

/** The counted actions whose actor is no user. */
const ofSystem: ReadonlySet<string> = new Set<AuditAction>(['internal_key.used']);

/**
 * Appends one audit entry for each tally of a past minute, as far as there is room for more.
 * Several processes may call it concurrently.
 */
export async function recordTallies(
  db: Database,
  audit: AuditTrail,
  clock: Clock,
  readRoom: Room,
): Promise<void> {
  for (;;) {
    const recorded = await db.asService(async (tx) => {
      const room = Math.min(batchSize, await readRoom(tx));
      if (room <= 0) return 0;
      const rows = await takeFinished(tx, new Date(clock().getTime() - 60_000 - graceMs), room);
      audit.appendAll(tx, rows.map(toEvent));
      return rows.length;
    }, ofQueue);
    if (recorded < batchSize) return;
  }
}

/**
 * Removes and returns up to `limit` tallies of the minutes until `before`. The tallies of an
 * account that has moved to another tenant are returned with the new tenant, where the account's
 * sequence numbers continue.
 */
async function takeFinished(tx: Tx, before: Date, limit: number): Promise<TallyRow[]> {
  const { rows } = await sql<TallyRow>`
    with taken as (
      delete from audit_tallies
      where ctid = any(array(
        select ctid from audit_tallies
        where minute <= ${before} order by minute limit ${limit} for update skip locked
      ))
      returning minute, user_id, tenant_id, action, actor_id, resource_type, resource_id, detail,
        count
    )
    select t.minute, t.user_id, coalesce(a.tenant_id, t.tenant_id) as tenant_id,
      t.action, t.actor_id, t.resource_type, t.resource_id, t.detail, t.count
    from taken t left join accounts a on a.id = t.user_id`.execute(tx);
  return rows;
}

function toEvent(row: TallyRow): AuditEvent {
  const isFailure = failures.has(row.action);
  // The cast is safe, since tallies.ts writes rows from events of these kinds only.
  return {
    action: row.action,
    actor: actorOf(row),
    owner: { userId: row.user_id, tenantId: row.tenant_id },
    resource: { type: row.resource_type, id: row.resource_id },
    ...(isFailure ? { outcome: 'failure' as const } : {}),
    requestId: null,
    data: {
      ...(JSON.parse(row.detail) as TalliedEvent['data']),
      count: row.count,
      minute: row.minute.toISOString(),
    },
  } as AuditEvent;
}

function actorOf({ action, actor_id: id }: TallyRow): AuditEvent['actor'] {
  if (id === '') return { type: 'anonymous', id: null };
  return { type: ofSystem.has(action) ? 'system' : 'user', id };
}
