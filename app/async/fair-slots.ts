import { AppError } from '../errors/app-error.ts';
import type { ErrorCode } from '../errors/error-codes.ts';

interface FairSlotsOptions {
  /** Maximum number of slots of one key, such as of one user. */
  readonly perKey: number;
  /** Maximum number of slots of all keys together; unlimited by default. */
  readonly inAll?: number;
  /** Maximum number of takers of one key that wait; unlimited by default. */
  readonly waitingPerKey?: number;
  /** Maximum number of takers of all keys together that wait; unlimited by default. */
  readonly waiting?: number;
  /** Milliseconds after which a taker waits no longer; unlimited by default. */
  readonly waitMs?: number;
  /** Returns the milliseconds for which a slot stays taken after a key held it; 0 by default. */
  readonly restAfter?: (key: string, heldMs: number) => number;
  /** The error if the key's own takers have all of its slots and places; busy by default. */
  readonly tooMany?: ErrorCode;
  /** The error if other keys have all slots and places; busy by default. */
  readonly noneFree?: ErrorCode;
}

/** Returns a slot, as if it had been held for `moreMs` longer. Further calls do nothing. */
type Release = (moreMs?: number) => void;

interface Waiter {
  grant(): void;
}

interface Line {
  /** The number of slots that the key has. */
  taken: number;
  /** The waiters of one key, in order of arrival. */
  readonly waiting: Set<Waiter>;
}

export type FairSlots = ReturnType<typeof createFairSlots>;

/**
 * Creates slots for concurrent work. Each key, such as each user, has a few of them, and a free
 * slot goes to the keys by turns, so that a key with many waiters delays no other key for longer
 * than one turn.
 */
export function createFairSlots(options: FairSlotsOptions) {
  const { perKey, inAll = Infinity, waitingPerKey = Infinity, waitMs } = options;
  const { waiting = Infinity, tooMany = 'busy', noneFree = 'busy', restAfter } = options;
  const lines = new Map<string, Line>();
  /** The keys with waiters that may take a slot as soon as one is free, in order of their turns. */
  const ready = new Set<string>();
  let taken = 0;
  let waitingNow = 0;

  const ownFull = () => new AppError(tooMany, { retryAfterSeconds: 1 });
  const full = () => new AppError(noneFree, { retryAfterSeconds: 5 });

  /** Returns the line of a key, or an empty one, which `keep` stores once it is in use. */
  const lineOf = (key: string): Line => lines.get(key) ?? { taken: 0, waiting: new Set() };

  function keep(key: string, line: Line): void {
    if (line.waiting.size > 0 || line.taken > 0) lines.set(key, line);
    else lines.delete(key);
  }

  /** Puts a key at the end of `ready`, or removes the key if it cannot take a slot. */
  function queue(key: string, line: Line): void {
    ready.delete(key);
    if (line.waiting.size > 0 && line.taken < perKey) ready.add(key);
    keep(key, line);
  }

  function grantFree(): void {
    for (const key of ready) {
      if (taken >= inAll) return;
      const line = lineOf(key);
      const [first] = line.waiting;
      first?.grant();
      queue(key, line);
    }
  }

  function occupy(key: string, line: Line): Release {
    line.taken += 1;
    taken += 1;
    keep(key, line);
    const since = performance.now();
    const free = () => {
      line.taken -= 1;
      taken -= 1;
      queue(key, line);
      grantFree();
    };
    let isReleased = false;
    return (moreMs = 0) => {
      if (isReleased) return;
      isReleased = true;
      const restMs = restAfter?.(key, performance.now() - since + moreMs) ?? 0;
      if (restMs > 0) setTimeout(free, restMs).unref();
      else free();
    };
  }

  async function wait(key: string, line: Line, signal: AbortSignal | undefined): Promise<Release> {
    if (line.waiting.size >= waitingPerKey) throw ownFull();
    if (waitingNow >= waiting) throw full();
    waitingNow += 1;
    const { promise, resolve, reject } = Promise.withResolvers<Release>();
    const waiter = { grant: () => (line.waiting.delete(waiter), resolve(occupy(key, line))) };
    line.waiting.add(waiter);
    queue(key, line);
    const giveUp = (reason: unknown) => {
      line.waiting.delete(waiter);
      queue(key, line);
      reject(reason);
    };
    const onAbort = () => giveUp(signal?.reason);
    const onTimeout = () => giveUp(line.taken < perKey ? full() : ownFull());
    const timer = waitMs === undefined ? undefined : setTimeout(onTimeout, waitMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    return promise.finally(() => {
      waitingNow -= 1;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    });
  }

  /**
   * Takes a slot, as soon as one is free, until the returned function is called. Throws `tooMany`
   * or `noneFree` if too many takers wait already or no slot became free in time, and the reason of
   * `signal` if it aborts meanwhile.
   */
  async function acquire(key: string, signal?: AbortSignal): Promise<Release> {
    signal?.throwIfAborted();
    const line = lineOf(key);
    const isFree = line.taken < perKey && taken < inAll;
    return isFree ? occupy(key, line) : wait(key, line, signal);
  }

  return {
    acquire,
    /** Runs `work` with a slot; settles as `work` does, or throws as `acquire` does. */
    async take<T>(key: string, work: () => Promise<T>): Promise<T> {
      const release = await acquire(key);
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}
