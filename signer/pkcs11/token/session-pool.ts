import { SignerUnavailable } from '../../protocol/signer-error.ts';

interface Closable {
  close(): void;
}

interface Waiter<S> {
  readonly resolve: (session: S) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * The queue in which a caller waits: `single` for a single operation, `batch` for one operation of
 * a batch.
 */
export type Queue = 'single' | 'batch';

/** Thrown when the pool was drained before the caller got a session: its work has not started. */
export class PoolDrained extends Error {}

interface SessionPoolOptions<S> {
  readonly size: number;
  /** Callers that may wait in each queue; any further caller fails with `busy`. */
  readonly queueLimit: number;
  readonly open: () => S;
  /** Returns whether a session is still usable after its operation threw this error. */
  readonly survives: (error: unknown) => boolean;
}

/**
 * Lends sessions for one operation each and opens them on demand. Each queue is first in, first
 * out, and the two queues are served alternately: otherwise every operation of a batch would wait
 * behind all single operations, and a batch would starve while many users log in. A session that
 * became unusable is closed, and the next caller gets a new session.
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

  /**
   * Runs `work` on a session. Throws SignerUnavailable `busy` if the queue is full, PoolDrained,
   * and whatever `work` throws.
   */
  async use<T>(work: (session: S) => Promise<T> | T, queue: Queue = 'single'): Promise<T> {
    const session = await this.#acquire(queue);
    let usable = true;
    try {
      return await work(session);
    } catch (error) {
      usable = this.#options.survives(error);
      throw error;
    } finally {
      this.#release(session, usable);
    }
  }

  /**
   * Rejects waiting and later callers with PoolDrained. Resolves once every session is released and
   * closed.
   */
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
    if (this.#drained !== undefined) reject(new PoolDrained());
    else if (!this.#hasRoom() && this.#waiting[queue].length >= this.#options.queueLimit)
      reject(new SignerUnavailable('busy', 'too many operations wait for a session: try again'));
    else {
      this.#waiting[queue].push({ resolve, reject });
      this.#serve();
    }
    return promise;
  }

  #release(session: S, usable: boolean): void {
    this.#inUse -= 1;
    if (usable) this.#idle.push(session);
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
      if (waiter === undefined) return;
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

/** Closes a session and ignores errors: it may no longer exist. */
function closeQuietly(session: Closable): void {
  try {
    session.close();
  } catch {
    // The session is not used again, so the error does not matter.
  }
}
