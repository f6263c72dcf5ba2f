import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { duplicateRedis } from '../../redis/redis.ts';
import { acknowledged } from './acknowledged.ts';
import { startConsumer, type Consumer, type ConsumerOptions } from './consumer.ts';
import { oldEntries, type Entry } from './old-entries.ts';

/**
 * Milliseconds after which an entry is due. By then its job is usually committed, which happens
 * after the entry was added.
 */
const untilCommittedMs = 100;

/** The only name of entries, which BullMQ requires. */
const entryName = 'job';

interface QueueOptions {
  readonly redis: Redis;
  /** Names the vault, so that several vaults can share a Redis. */
  readonly vault: string;
  /** The types of jobs; each has a queue of its own, so that none waits for another. */
  readonly types: readonly string[];
}

export type JobQueue = ReturnType<typeof openJobQueue>;

/**
 * Opens the queue in Redis that wakes workers. Its entries are ids of jobs and nothing else. They
 * may be lost, late, or there twice: Postgres decides which jobs run (docs/adr/0029).
 */
export function openJobQueue({ redis, vault, types }: QueueOptions) {
  const prefix = `jobs:${vault}`;
  // BullMQ sends its first commands only once, so they must wait for Redis however long it takes.
  // Whatever is sent while there is no connection fails at once, and so does not pile up.
  const patient = { maxRetriesPerRequest: null, commandTimeout: undefined };
  const connection = duplicateRedis(redis, { ...patient, enableOfflineQueue: false });
  // The connection `redis` logs the same errors.
  connection.on('error', () => undefined);
  const queues = new Map(types.map((type) => [type, openQueue(type)]));
  const consumers: Consumer[] = [];

  function openQueue(type: string) {
    const queue = new Queue(queueName(type), {
      connection,
      prefix,
      defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
      // Nobody reads the events that BullMQ would keep.
      streams: { events: { maxLen: 0 } },
    });
    queue.on('error', () => undefined);
    return queue;
  }

  function queueOf(type: string) {
    const queue = queues.get(type);
    if (queue === undefined) throw new TypeError(`there is no queue for jobs of type ${type}`);
    return queue;
  }

  async function add({ type, id }: Entry, delay = 0): Promise<void> {
    await acknowledged(queueOf(type).add(entryName, {}, { jobId: id, delay }));
  }

  /** Returns those of the entries that are not in the queue. */
  async function findMissing(entries: readonly Entry[]): Promise<Entry[]> {
    const pipeline = connection.pipeline();
    for (const { type, id } of entries) pipeline.exists(queueOf(type).toKey(id));
    const found = (await acknowledged(pipeline.exec())) ?? [];
    return entries.filter((_entry, index) => {
      const [error, count] = found[index] ?? [];
      if (error instanceof Error) throw error;
      return count === 0;
    });
  }

  return {
    /**
     * Adds the entry of a job that is about to be committed. Does nothing if the entry exists.
     * Throws queue_unavailable if Redis does not acknowledge it within 1.5 s; it may be added even
     * then, which does no harm.
     */
    add: (entry: Entry): Promise<void> => add(entry, untilCommittedMs),

    /**
     * Adds those of the entries that are not in the queue. Resolves with their number. Throws
     * queue_unavailable.
     */
    async restore(entries: readonly Entry[]): Promise<number> {
      const known = entries.filter(({ type }) => queues.has(type));
      const missing = await findMissing(known);
      for (const entry of missing) await add(entry);
      return missing.length;
    },

    /**
     * Resolves with true once in `seconds`, in one of the processes that call it. Throws
     * queue_unavailable.
     */
    async takeTurn(seconds: number): Promise<boolean> {
      const set = connection.set(`${prefix}:turn`, '', 'EX', seconds, 'NX');
      return (await acknowledged(set)) === 'OK';
    },

    /**
     * Yields pages of entries that are older than `ageMs` and that no worker has in hand. Throws
     * queue_unavailable.
     */
    listOld: (ageMs: number) => oldEntries(queues, ageMs),

    /**
     * Removes an entry unless a worker has it in hand. Resolves with the number of removed entries.
     * Throws queue_unavailable.
     */
    remove: ({ type, id }: Entry): Promise<number> => acknowledged(queueOf(type).remove(id)),

    /** Starts to hand the entries of jobs of a type to `handle`. */
    consume(type: string, options: Omit<ConsumerOptions, 'name' | 'prefix' | 'redis'>): void {
      const name = queueName(type);
      consumers.push(startConsumer({ ...options, name, prefix, redis }));
    },

    /** Hands out no more entries, and resolves once those in hand are done, or after 5 s. */
    stopConsumers: async (): Promise<void> => {
      await Promise.all(consumers.map((consumer) => consumer.stop()));
    },

    close: (): void => connection.disconnect(),
  };
}

function queueName(type: string): string {
  return type.toLowerCase().replaceAll('_', '-');
}
