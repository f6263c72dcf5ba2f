import { createTurns } from '../../../app/async/turns.ts';

/**
 * Number of the vault's connections to Postgres. A request that waits too long for one gets a 503.
 */
const connections = 20;

/** Sends a request `count` times, as many concurrently as there are database connections. */
export function manyAtOnce<T>(count: number, send: () => Promise<T>): Promise<T[]> {
  const turns = createTurns(connections);
  return Promise.all(Array.from({ length: count }, () => turns.take(send)));
}
