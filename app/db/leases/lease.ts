import { sql, type RawBuilder } from 'kysely';

/**
 * Seconds after which a lease expires unless the process that holds it renews it. So if a process
 * dies, others wait no longer than that for what it held.
 */
export const leaseSeconds = 15;
export const renewSeconds = 5;

/** Returns the end, by the database's clock, of a lease that begins or is renewed now. */
export function leaseEnd(): RawBuilder<Date> {
  return sql<Date>`now() + make_interval(secs => ${leaseSeconds})`;
}

/** Returns the condition that nobody holds the lease in this column. */
export function isFree(column: string): RawBuilder<boolean> {
  return sql<boolean>`coalesce(${sql.ref(column)} <= now(), true)`;
}

/** Returns the seconds until the lease in this column expires; null if there is none. */
export function secondsLeft(column: string): RawBuilder<number | null> {
  return sql<number | null>`extract(epoch from ${sql.ref(column)} - now())::float8`;
}

/**
 * Returns after how many seconds a client may try again to get what another request holds. Its
 * holder probably ends soon if it renewed the lease lately; otherwise the lease has to expire.
 */
export function retryAfterSeconds(left: number): number {
  return left > leaseSeconds - renewSeconds ? 2 : Math.max(1, Math.ceil(left));
}
