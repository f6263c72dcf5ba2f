import { sql } from 'kysely';
import type { Clock } from '../../async/clock.ts';
import type { Database, Tx } from '../../db/database.ts';
import { repeat } from '../../async/repeat.ts';
import type { Log } from '../../telemetry/log.ts';
import { nobody } from '../../audit-trail/event.ts';
import type { TalliedEvent } from './tallied-event.ts';
import { recordTallies } from './recorder.ts';
import type { Room } from './room.ts';
import type { AuditTrail } from '../../audit-trail/audit-trail.ts';

const recordEveryMs = 5_000;

interface TalliesOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Maximum number of tallies that are not entries yet. Above it, events are counted without owner
   * and actor.
   */
  readonly limit: number;
  readonly readRoom: Room;
}

/** The number of equal events in a minute, which is named by its beginning. */
interface Counted {
  readonly minute: Date;
  readonly count: number;
}

export type Tallies = ReturnType<typeof startTallies>;

/**
 * Starts to count events, and to turn the counts of past minutes into audit entries, until stopped.
 * The number of entries thus depends on the numbers of accounts and client addresses, not on the
 * number of requests.
 */
export function startTallies(options: TalliesOptions) {
  const { db, audit, clock, log, limit, readRoom } = options;
  let isFull = false;

  async function record(): Promise<void> {
    await recordTallies(db, audit, clock, readRoom);
    isFull = await countsOver(db, limit);
  }

  const recording = repeat(recordEveryMs, record, (error) =>
    log.warn({ err: error }, 'counted events could not be recorded as entries; retrying'),
  );
  recording.now();
  return {
    /**
     * Counts an event, by default one of this minute. The count is durable once the promise
     * resolves.
     */
    async add(
      event: TalliedEvent,
      { minute = startOfMinute(clock()), count = 1 }: Partial<Counted> = {},
    ): Promise<void> {
      const counted = { minute, count };
      await db.asService((tx) => addCount(tx, counted, isFull ? anonymised(event) : event));
    },
    /** Stops recording, and resolves once the run under way has finished. */
    stop: () => recording.stop(),
  };
}

/** Returns the beginning of a minute, by which events are counted. */
export function startOfMinute(time: Date): Date {
  return new Date(Math.floor(time.getTime() / 60_000) * 60_000);
}

async function addCount(
  tx: Tx,
  { minute, count }: Counted,
  { action, actor, owner, resource, data }: TalliedEvent,
): Promise<void> {
  await tx
    .insertInto('audit_tallies')
    .values({
      minute,
      user_id: owner.userId,
      tenant_id: owner.tenantId,
      action,
      actor_id: actor.id ?? '',
      resource_type: resource.type,
      resource_id: resource.id,
      detail: JSON.stringify(data),
      count,
    })
    .onConflict((conflict) =>
      conflict
        .columns([
          'minute',
          'user_id',
          'tenant_id',
          'action',
          'actor_id',
          'resource_type',
          'resource_id',
          'detail',
        ])
        .doUpdateSet({ count: sql`audit_tallies.count + ${count}` }),
    )
    .execute();
}

/**
 * Returns the event without owner, actor and details, so that all anonymised events of an action
 * share one tally.
 */
function anonymised({ action }: TalliedEvent): TalliedEvent {
  return {
    action,
    actor: { type: 'anonymous', id: null },
    owner: nobody,
    resource: { type: 'overflow', id: action },
    data: {},
  };
}

async function countsOver(db: Database, limit: number): Promise<boolean> {
  const { rows } = await db.asService((tx) =>
    sql<{ readonly count: number }>`
      select count(*) as count
      from (select 1 from audit_tallies limit ${limit + 1}) as waiting`.execute(tx),
  );
  return (rows[0]?.count ?? 0) > limit;
}
