import { sql } from 'kysely';
import type { Clock } from '../../async/clock.ts';
import type { Database } from '../../db/database.ts';
import { repeat } from '../../async/repeat.ts';
import type { Log } from '../../telemetry/log.ts';
import { nobody, type AuditEvent } from '../../trail/event.ts';
import { recordTallies } from './recorder.ts';
import type { AuditTrail } from '../../trail/trail.ts';

/** An event that comes in numbers. Those that agree in all of this count as one within a minute. */
export type TalliedEvent = Pick<AuditEvent, 'action' | 'actor' | 'owner' | 'resource' | 'data'>;

/**
 * Events that a stranger can cause at will, and reads: counted a minute, then one entry with
 * `count` and `minute` in its data. So they grow with accounts and addresses, not with requests.
 */
export interface Tallies {
  /** Counts one. Durable when it resolves. */
  add(event: TalliedEvent): Promise<void>;
  /** Finishes the entries under way. */
  stop(): Promise<void>;
}

const recordEveryMs = 5_000;
interface TalliesOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly clock: Clock;
  readonly log: Log;
  /** Different events that may wait; more are counted together. */
  readonly limit: number;
  /** Unsealed entries from which no more are made of them. */
  readonly maxUnsealed: number;
}

/** Starts turning the minutes that are over into entries, until stopped. */
export function startTallies(options: TalliesOptions): Tallies {
  const { db, audit, clock, log, limit, maxUnsealed } = options;
  let isFull = false;

  async function record(): Promise<void> {
    await recordTallies(db, audit, clock, maxUnsealed);
    isFull = await countsOver(db, limit);
  }

  const recording = repeat(recordEveryMs, record, (error) =>
    log.warn({ err: error }, 'summed up events wait'),
  );
  recording.now();
  return {
    async add(event) {
      const { action, actor, owner, resource, data } = isFull ? anonymised(event) : event;
      const minute = new Date(Math.floor(clock().getTime() / 60_000) * 60_000);
      await db.asService((tx) =>
        tx
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
            count: 1,
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
              .doUpdateSet({ count: sql`audit_tallies.count + 1` }),
          )
          .execute(),
      );
    },
    stop: () => recording.stop(),
  };
}

/** Counted all the same, but under nobody's name. */
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
    sql<{ count: number }>`
      select count(*) as count
      from (select 1 from audit_tallies limit ${limit + 1}) as waiting`.execute(tx),
  );
  return (rows[0]?.count ?? 0) > limit;
}
