import { SpanKind } from '@opentelemetry/api';
import { sql } from 'kysely';
import { inSpan } from '../../signer/protocol/tracing/spans.ts';
import { ofQueue, type Database } from '../db/database.ts';
import type { Log } from '../telemetry/log.ts';
import type { WakeSignal } from '../async/wake-signal.ts';
import type { OutboxKind, OutboxPayloads } from './outbox.ts';
import { PermanentFailure } from './permanent-failure.ts';

/**
 * Handlers that carry out the side effects, by kind. They MUST be idempotent, since delivery is at
 * least once. A handler is retried after every error except a PermanentFailure.
 */
export type OutboxHandlers = {
  readonly [K in OutboxKind]: (payload: OutboxPayloads[K], messageId: string) => Promise<void>;
};

interface Message {
  readonly id: string;
  readonly kind: string;
  readonly payload: string;
  readonly attempts: number;
}

const batchSize = 20;
const leaseSeconds = 60;
const maxBackoffSeconds = 600;
/** How often a message may fail before it is parked: over about two hours. */
const maxAttempts = 20;
/** How long the worker waits for a wake: longer each time that it finds nothing. */
const pollMs = { first: 1_000, last: 5_000 };

interface WorkerOptions {
  readonly db: Database;
  readonly handlers: OutboxHandlers;
  /** Wakes the worker when messages were added, so that it need not wait for the next poll. */
  readonly signal: WakeSignal;
  readonly log: Log;
}

/**
 * Starts a worker that carries out the messages of committed transactions until stopped. Several
 * workers may run concurrently. Messages of one kind do not wait for those of another. A message
 * that has failed 20 times is parked until the task `drain-outbox` takes it up again.
 */
export function startOutboxWorker({ db, handlers, signal, log }: WorkerOptions) {
  const stopping = new AbortController();
  const underWay = new Map<string, { readonly kind: string; readonly done: Promise<void> }>();

  function warn(error: unknown, { id, kind, attempts }: Message, text: string): void {
    log.warn({ err: error, messageId: id, kind, attempts }, text);
  }

  /**
   * Handles a message. Resolves if it is done or failed permanently; throws if a retry may help.
   */
  async function attempt(message: Message): Promise<void> {
    const handler = handlers[message.kind as OutboxKind] as
      | ((payload: unknown, id: string) => Promise<void>)
      | undefined;
    if (handler === undefined) throw new Error('there is no handler for this kind of message');
    try {
      await handler(JSON.parse(message.payload), message.id);
    } catch (error) {
      if (!(error instanceof PermanentFailure)) throw error;
      warn(error, message, 'an outbox message failed permanently and is erased');
    }
  }

  async function handle(message: Message): Promise<void> {
    // Every attempt before this one ended with the death of its process, or it would be parked.
    if (message.attempts > maxAttempts) throw new Error('no attempt has come to an end');
    const { kind, attempts } = message;
    const options = { root: true, kind: SpanKind.CONSUMER, attributes: { attempts } };
    await inSpan(`outbox ${kind}`, options, async () => {
      await attempt(message);
      await remove(db, message.id);
    });
  }

  async function putOff(error: unknown, message: Message): Promise<void> {
    if (message.attempts < maxAttempts) {
      warn(error, message, 'an outbox message failed and will be retried');
      await postpone(db, message);
    } else {
      warn(error, message, 'an outbox message failed too often and is parked');
      await park(db, message);
    }
  }

  async function deliver(message: Message): Promise<void> {
    // If the message cannot be put off, its lease ends by itself.
    await handle(message).catch((error: unknown) => putOff(error, message).catch(() => undefined));
    const wasBusy = busyKinds().includes(message.kind);
    underWay.delete(message.id);
    if (wasBusy) signal.wake();
  }

  /**
   * Starts to handle a message. Does nothing if the message is still running: its lease had ended,
   * and the new claim has renewed the lease.
   */
  function start(message: Message): void {
    const { id, kind } = message;
    if (underWay.has(id)) return;
    underWay.set(id, { kind, done: deliver(message) });
  }

  /**
   * Returns the kinds that have reached their limit of running messages. Messages of these kinds
   * are not claimed, so that a mail server that hangs does not delay other kinds.
   */
  function busyKinds(): string[] {
    const kinds = [...underWay.values()].map(({ kind }) => kind);
    return [...new Set(kinds)].filter(
      (kind) => kinds.filter((other) => other === kind).length >= batchSize,
    );
  }

  async function run(): Promise<void> {
    let wait = pollMs.first;
    while (!stopping.signal.aborted) {
      let claimed = 0;
      try {
        const messages = await claim(db, busyKinds());
        claimed = messages.length;
        for (const message of messages) start(message);
        const isIdle = claimed === 0 && underWay.size === 0;
        wait = isIdle ? Math.min(2 * wait, pollMs.last) : pollMs.first;
      } catch (error) {
        wait = pollMs.first;
        log.warn({ err: error }, 'outbox messages cannot be claimed; the worker will retry');
      }
      if (claimed < batchSize) await signal.wait(wait, stopping.signal);
    }
    await Promise.all([...underWay.values()].map(({ done }) => done));
  }

  const running = run();
  return {
    /** Stops claiming messages and resolves once those under way are finished. */
    async stop(): Promise<void> {
      stopping.abort();
      await running;
    },
  };
}

/**
 * Claims due messages under a lease. If the worker dies, they are due again when the lease ends.
 */
function claim(db: Database, exceptKinds: readonly string[]): Promise<Message[]> {
  return db.asService(async (tx) => {
    const { rows } = await sql<Message>`
      update outbox
      set attempts = attempts + 1, available_at = now() + make_interval(secs => ${leaseSeconds})
      where id in (
        select id from outbox
        where parked_at is null and available_at <= now() and kind <> all(${exceptKinds})
        order by available_at limit ${batchSize} for update skip locked
      )
      returning id, kind, payload, attempts`.execute(tx);
    return rows;
  }, ofQueue);
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

async function park(db: Database, { id }: Message): Promise<void> {
  await db.asService((tx) =>
    tx
      .updateTable('outbox')
      .set({ parked_at: sql`now()` })
      .where('id', '=', id)
      .execute(),
  );
}

async function remove(db: Database, id: string): Promise<void> {
  await db.asService((tx) => tx.deleteFrom('outbox').where('id', '=', id).execute());
}
