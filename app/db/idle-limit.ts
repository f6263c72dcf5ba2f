/** Ends a transaction whose work waits for something that never comes. */
export interface IdleLimit {
  /** Rejects once no statement has run for too long, unless stopped before. */
  readonly exceeded: Promise<never>;
  statementBegins(): void;
  /** Need not be called of a statement that failed. */
  statementEnds(): void;
  stop(): void;
}

interface IdleLimitOptions {
  /** After this Postgres ends the connection of a transaction that does nothing. */
  readonly idleMs: number;
  /** No statement takes longer. */
  readonly statementMs: number;
}

/** By then a connection that Postgres ended is known to be broken, and the pool keeps it no more. */
const marginMs = 1_000;

/** Work that waits for something else does not hear that Postgres has ended its connection. */
export function startIdleLimit({ idleMs, statementMs }: IdleLimitOptions): IdleLimit {
  const { promise: exceeded, reject } = Promise.withResolvers<never>();
  // Nobody need listen: it may be over before.
  exceeded.catch(() => undefined);
  const giveUp = () => reject(new Error('a transaction was left idle'));
  let timer = setTimeout(giveUp, idleMs + marginMs);

  function restart(ms: number): void {
    clearTimeout(timer);
    timer = setTimeout(giveUp, ms + marginMs);
  }

  return {
    exceeded,
    statementBegins: () => restart(statementMs + idleMs),
    statementEnds: () => restart(idleMs),
    stop: () => clearTimeout(timer),
  };
}
