import type { Clock } from '../../async/clock.ts';
import { repeat } from '../../async/repeat.ts';
import { nobody } from '../../audit-trail/event.ts';
import type { InternalCaller } from '../../http/requests/caller.ts';
import type { Log } from '../../telemetry/log.ts';
import { startOfMinute, type Tallies } from '../tallies/tallies.ts';

interface UsesOptions {
  readonly tallies: Pick<Tallies, 'add'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Uses of a key on a route within a minute that are not stored yet. */
interface Uses {
  readonly internalKey: string;
  readonly route: string;
  readonly minute: Date;
  readonly count: number;
}

const retryMs = 1_000;

/**
 * Starts to count the requests with internal API keys, until stopped. Those of one key on one route
 * within a minute become one audit entry. No request waits for it: operators need some routes while
 * the database is away, and these uses are stored once it is back.
 */
export function countInternalUses({ tallies, clock, log }: UsesOptions) {
  const waiting = new Map<string, Uses>();

  async function store(): Promise<void> {
    for (const [id, uses] of waiting) {
      const { internalKey, route, minute, count } = uses;
      const event = {
        action: 'internal_key.used',
        actor: { type: 'system', id: internalKey },
        owner: nobody,
        resource: { type: 'internal_key', id: internalKey },
        data: { route },
      } as const;
      await tallies.add(event, { minute, count });
      const left = (waiting.get(id)?.count ?? count) - count;
      if (left === 0) waiting.delete(id);
      else waiting.set(id, { ...uses, count: left });
    }
  }

  const storing = repeat(retryMs, store, (error) =>
    log.warn({ err: error }, 'uses of internal API keys could not be counted; retrying'),
  );
  return {
    /** Counts a request to a route, which is a method and a path. */
    add({ internalKey }: InternalCaller, route: string): void {
      const minute = startOfMinute(clock());
      const id = `${minute.getTime()} ${internalKey} ${route}`;
      const count = (waiting.get(id)?.count ?? 0) + 1;
      waiting.set(id, { internalKey, route, minute, count });
      storing.now();
    },
    /** Stores the uses so far, if the database answers, and stops. */
    async stop(): Promise<void> {
      await storing.stop();
      await store().catch((error: unknown) =>
        log.warn({ err: error }, 'uses of internal API keys were not counted'),
      );
    },
  };
}
