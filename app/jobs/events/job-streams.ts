import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { sql } from 'kysely';
import type { Clock } from '../../async/clock.ts';
import { repeat } from '../../async/repeat.ts';
import type { Database } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Listener } from '../../http/responses/event-stream.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { Revocations } from '../../sessions/revocations.ts';
import { startStreamGuard, type GuardedStream } from '../../sessions/streams/stream-guard.ts';
import { createStreamSlots } from '../../sessions/streams/stream-slots.ts';
import type { Log } from '../../telemetry/log.ts';
import { findJob } from '../rows/job-rows.ts';
import { createJobStream, type JobStream } from './job-stream.ts';

interface JobStreamsOptions {
  readonly db: Database;
  readonly redis: Redis;
  readonly revocations: Revocations;
  readonly clock: Clock;
  readonly log: Log;
}

type OpenStream = JobStream & GuardedStream & { readonly id: string; readonly userId: string };

const lookEveryMs = 1_000;
const renewEveryMs = 10_000;

export type JobStreams = ReturnType<typeof startJobStreams>;

/** Starts the event streams of this process, which tell the status of jobs as it changes. */
export function startJobStreams(options: JobStreamsOptions) {
  const { db, redis, log } = options;
  const slots = createStreamSlots({ redis, kind: 'job-streams' });
  const open = new Set<OpenStream>();
  const guard = startStreamGuard({ ...options, streams: () => open });
  let isDraining = false;

  /** Tells every stream the status of its job, which one query reads for all of them. */
  async function look(): Promise<void> {
    const streams = [...open];
    if (streams.length === 0) return;
    const ids = streams.map(({ jobId }) => jobId);
    const rows = await db.asService((tx) =>
      tx
        .selectFrom('jobs')
        .select(['id', 'state', 'error'])
        .where('id', '=', sql<string>`any(${ids}::uuid[])`)
        .execute(),
    );
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const stream of streams) {
      const row = found.get(stream.jobId);
      if (row === undefined) stream.end('not_found');
      else stream.tell({ jobId: row.id, status: row.state, error: row.error });
    }
  }

  const looking = repeat(lookEveryMs, look, (error) =>
    log.warn({ err: error }, 'the jobs of open event streams could not be read; retrying'),
  );
  const renewing = repeat(renewEveryMs, () => slots.renew(open));

  return {
    /**
     * Opens a stream of a job's status. Throws not_found, too_many_feeds or shutting_down, and
     * client_gone if the client has disconnected meanwhile.
     */
    async open(
      { caller }: ServiceRequest,
      jobId: string,
      listener: Listener,
    ): Promise<AsyncIterable<string>> {
      if (isDraining) throw new AppError('shutting_down');
      const holder = { id: randomUUID(), userId: caller.userId };
      await slots.take(holder);
      const release = () => slots.release(holder);
      try {
        const { id, state: status, error } = await findJob(db, caller, jobId);
        listener.gone.throwIfAborted();
        const { sessionId, expiresAt } = caller;
        const stream = {
          ...createJobStream({ jobId: id, status, error }, listener),
          ...holder,
          sessionId,
          expiresAt,
        };
        open.add(stream);
        listener.gone.addEventListener('abort', () => (open.delete(stream), release()));
        if (isDraining) stream.end('shutting_down');
        return stream.events;
      } catch (error) {
        release();
        throw error;
      }
    },

    /** Returns the number of open streams. */
    count: (): number => open.size,

    /** Ends every stream and refuses new ones. */
    drain(): void {
      isDraining = true;
      for (const stream of open) stream.end('shutting_down');
    },

    /** Stops the background workers of the streams. Call it after `drain`. */
    async stop(): Promise<void> {
      await Promise.all([guard.stop(), looking.stop(), renewing.stop()]);
    },
  };
}
