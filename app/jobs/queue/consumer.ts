import { DelayedError, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { within } from '../../async/within.ts';
import { leaseSeconds } from '../../db/leases/lease.ts';
import { duplicateRedis } from '../../redis/redis.ts';
import type { Log } from '../../telemetry/log.ts';

/** An entry as a worker gets it. */
export interface TakenEntry {
  /** Id of the job. */
  readonly id: string;
  /** Whether no worker has taken the entry before. */
  readonly isNew: boolean;
}

/**
 * Handles an entry. Resolves with undefined if the entry is not needed any more, and otherwise with
 * the milliseconds after which it is handed out again. MUST NOT reject.
 */
export type HandleEntry = (entry: TakenEntry) => Promise<number | undefined>;

export interface ConsumerOptions {
  readonly redis: Redis;
  readonly name: string;
  readonly prefix: string;
  /** Number of entries that this process has in hand at a time. */
  readonly concurrency: number;
  readonly handle: HandleEntry;
  readonly log: Log;
}

/** Milliseconds within which entries in hand must be done after a stop. */
const stopMs = 5_000;
const retryMs = 1_000;
/** Milliseconds after which an entry is handed out again that came to a consumer as it stopped. */
const handedOnMs = 1_000;

export type Consumer = ReturnType<typeof startConsumer>;

/**
 * Starts to take the entries of a queue. An entry whose process died is handed out again some
 * 15 s later.
 */
export function startConsumer({ redis, name, prefix, concurrency, handle, log }: ConsumerOptions) {
  const connection = duplicateRedis(redis, {
    maxRetriesPerRequest: null,
    commandTimeout: undefined,
  });
  const connections = [connection];
  // BullMQ makes a connection of its own to wait for entries, and cannot close it without Redis.
  const duplicate = connection.duplicate.bind(connection);
  connection.duplicate = (options) => {
    const copy = duplicate(options);
    connections.push(copy);
    return copy;
  };
  let isStopping = false;
  const worker = new Worker(
    name,
    async (entry, token) => {
      // BullMQ goes on to take entries for a moment, such as those that the stop interrupted.
      const pauseMs = isStopping
        ? handedOnMs
        : await handle({ id: entry.id ?? '', isNew: entry.attemptsStarted <= 1 });
      if (pauseMs === undefined) return;
      await entry.moveToDelayed(Date.now() + pauseMs, token);
      throw new DelayedError();
    },
    {
      connection,
      prefix,
      concurrency,
      lockDuration: leaseSeconds * 1_000,
      stalledInterval: leaseSeconds * 1_000,
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      runRetryDelay: retryMs,
    },
  );
  let lastProblem = '';
  worker.on('error', (error) => {
    // A worker without Redis reports the same error at each attempt to connect.
    if (error.message === lastProblem) return;
    lastProblem = error.message;
    log.warn({ err: error, queue: name }, 'the queue of jobs failed; the worker goes on trying');
  });
  worker.on('completed', () => {
    lastProblem = '';
  });
  return {
    /** Takes no more entries, and resolves once those in hand are done, or after 5 s. */
    async stop(): Promise<void> {
      isStopping = true;
      // Without Redis, nothing that BullMQ waits for would come.
      const isConnected = connections.every(({ status }) => status === 'ready');
      await within(stopMs, worker.close(!isConnected));
      for (const each of connections) {
        each.options.retryStrategy = () => null;
        each.disconnect();
      }
    },
  };
}
