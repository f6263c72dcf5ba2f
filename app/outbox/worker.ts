import { sql } from 'kysely';
import type { Database } from '../db/database.ts';
import type { Log } from '../telemetry/log.ts';
import { createWakeSignal } from '../wake-signal.ts';
import type { OutboxKind, OutboxPayloads } from './outbox.ts';

/** What does the promised. Each may be called again for the same message: it must be idempotent. */
export type OutboxHandlers = {
  readonly [K in OutboxKind]: (payload: OutboxPayloads[K], messageId: string) => Promise<void>;
};

export interface OutboxWorker {
  readonly wake: () => void;
  /** Finishes the messages under way. */
  stop(): Promise<void>;
}

interface Message {
  readonly id: string;
  readonly kind: string;
  readonly payload: string;
  readonly attempts: number;
}

const batchSize = 20;
const leaseSeconds = 60;
const maxBackoffSeconds = 600;
const pollMs = 1_000;

interface WorkerOptions {
  readonly db: Database;
  readonly handlers: OutboxHandlers;
  readonly log: Log;
}

/** Starts doing what committed transactions promised, until stopped. Several may run side by side. */
export function startOutboxWorker({ db, handlers, log }: WorkerOptions): OutboxWorker {
  const signal = createWakeSignal();
  const stopping = new AbortController();

  async function deliver(message: Message): Promise<void> {
    try {
      const handler = handlers[message.kind as OutboxKind] as
        | ((payload: unknown, id: string) => Promise<void>)
        | undefined;
      if (handler === undefined) throw new Error('no handler for this kind');
      await handler(JSON.parse(message.payload), message.id);
      await remove(db, message.id);
    } catch (error) {
      log.warn(
        { err: error, messageId: message.id, kind: message.kind, attempts: message.attempts },
        'an outbox message is tried again later',
      );
      await postpone(db, message).catch(() => undefined);
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      let claimed = 0;
      try {
        const messages = await claim(db);
        claimed = messages.length;
        await Promise.all(messages.map(deliver));
      } catch (error) {
        log.warn({ err: error }, 'the outbox waits for the database');
      }
      if (claimed < batchSize) await signal.wait(pollMs, stopping.signal);
    }
  }

  const running = run();
  return {
    wake: signal.wake,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** Takes due messages under a lease: those of a worker that dies are due again when it ends. */
function claim(db: Database): Promise<Message[]> {
  return db.asService(async (tx) => {
    const { rows } = await sql<Message>`
      update outbox
      set attempts = attempts + 1, available_at = now() + make_interval(secs => ${leaseSeconds})
      where id in (
        select id from outbox where available_at <= now()
        order by available_at limit ${batchSize} for update skip locked
      )
      returning id, kind, payload, attempts`.execute(tx);
    return rows;
  });
}

async function postpone(db: Database, { id, attempts }: Message): Promise<void> {
  const seconds = Math.min(2 ** attempts, maxBackoffSeconds);
  await db.asService((tx) =>
    tx
      .updateTable('outbox')
      .set({ available_at: sql`now() + make_interval(secs => ${seconds})` })
      .where('id', '=', id)
      .execute(),
  );
}

async function remove(db: Database, id: string): Promise<void> {
  await db.asService((tx) => tx.deleteFrom('outbox').where('id', '=', id).execute());
}
