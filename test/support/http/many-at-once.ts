import { createTurns } from '../../../app/async/turns.ts';

/** A vault's connections to Postgres: a request that waits too long for one is answered 503. */
const connections = 20;

/** Sends the same request so many times, as many at once as can meet in the database. */
export function manyAtOnce<T>(count: number, send: () => Promise<T>): Promise<T[]> {
  const turns = createTurns(connections);
  return Promise.all(Array.from({ length: count }, () => turns.take(send)));
}
