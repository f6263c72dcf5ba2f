import { SignerUnavailable } from '../../protocol/signer-error.ts';

type Closable = { close(): void };

type Waiter<S> = { resolve: (session: S) => void; reject: (reason: unknown) => void };

/** Where a caller waits: as a part of a batch, or for itself. */
export type Queue = 'single' | 'batch';

/** The pool was drained while the caller waited: nothing of its work has begun. */
export class PoolDrained extends Error {}

type SessionPoolOptions<S> = {
  size: number;
  /** How many callers may wait for a session in a queue before `busy` is the answer. */
  queueLimit: number;
  open: () => S;
  /** Whether a session is still fit for use after its operation threw this. */
  survives: (error: unknown) => boolean;
};

/**
 * Sessions for one operation each, opened as they are first needed. In each queue who comes first is
 * served first, and the queues are served by turns: else a batch would wait behind all others with
 * each of its operations, and never end while many log in. A session whose operation left it unfit is
 * closed; the next caller gets a new one.
 */
export class SessionPool<S extends Closable> {
  readonly #options: SessionPoolOptions<S>;
  readonly #idle: S[] = [];
  readonly #waiting: Record<Queue, Waiter<S>[]> = { single: [], batch: [] };
  #turn: Queue = 'single';
  #inUse = 0;
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(options: SessionPoolOptions<S>) {
    this.#options = options;
  }

  get inUse(): number {
    return this.#inUse;
  }

  get open(): number {
    return this.#inUse + this.#idle.length;
  }

  get waiting(): number {
    return this.#waiting.single.length + this.#waiting.batch.length;
  }

  /** Throws SignerUnavailable `busy` over the queue limit, PoolDrained, and what `work` throws. */
  async use<T>(work: (session: S) => Promise<T> | T, queue: Queue = 'single'): Promise<T> {
    const session = await this.#acquire(queue);
    let fit = true;
    try {
      return await work(session);
    } catch (error) {
      fit = this.#options.survives(error);
      throw error;
    } finally {
      this.#release(session, fit);
    }
  }

  /** Turns waiting and later callers away; resolves once no session is in use and all are closed. */
  async drain(): Promise<void> {
    this.#drained ??= Promise.withResolvers();
    for (const queue of Object.values(this.#waiting))
      for (const waiter of queue.splice(0)) waiter.reject(new PoolDrained());
    if (this.#inUse === 0) this.#drained.resolve();
    await this.#drained.promise;
    for (const session of this.#idle.splice(0)) closeQuietly(session);
  }

  #acquire(queue: Queue): Promise<S> {
    const { promise, resolve, reject } = Promise.withResolvers<S>();
    if (this.#drained) reject(new PoolDrained());
    else if (!this.#hasRoom() && this.#waiting[queue].length >= this.#options.queueLimit)
      reject(new SignerUnavailable('busy', 'too many operations wait for a session'));
    else {
      this.#waiting[queue].push({ resolve, reject });
      this.#serve();
    }
    return promise;
  }

  #release(session: S, fit: boolean): void {
    this.#inUse -= 1;
    if (fit) this.#idle.push(session);
    else closeQuietly(session);
    this.#serve();
    if (this.#inUse === 0) this.#drained?.resolve();
  }

  #hasRoom(): boolean {
    return this.#idle.length > 0 || this.#inUse < this.#options.size;
  }

  #next(): Waiter<S> | undefined {
    const { single, batch } = this.#waiting;
    const isBatch = single.length === 0 || (this.#turn === 'batch' && batch.length > 0);
    this.#turn = isBatch ? 'single' : 'batch';
    return (isBatch ? batch : single).shift();
  }

  #serve(): void {
    while (this.#hasRoom()) {
      const waiter = this.#next();
      if (!waiter) return;
      try {
        const session = this.#idle.shift() ?? this.#options.open();
        this.#inUse += 1;
        waiter.resolve(session);
      } catch (error) {
        waiter.reject(error);
      }
    }
  }
}

/** For a session that may be gone already. */
function closeQuietly(session: Closable): void {
  try {
    session.close();
  } catch {
    // Closing was all that was left to do with it.
  }
}
