import { sql } from 'kysely';
import type { Owner, Tx } from '../../db/database.ts';
import { leaseEnd } from '../../db/leases/lease.ts';
import { takesLock } from '../../db/lock-order.ts';

/** A job that a worker holds, under a lease and a fencing token. */
export interface ClaimedJob {
  readonly id: string;
  readonly owner: Owner;
  readonly type: string;
  /** The payload as it was stored. */
  readonly payload: unknown;
  /** How often a worker has begun the job, this time included. */
  readonly attempts: number;
  readonly token: number;
  readonly retryCount: number;
  /** The server's id of the request that submitted the job. */
  readonly requestId: string;
}

/**
 * The result of a claim: the job; `missing` if there is no such job; the milliseconds until the job
 * is due; or `taken` if another worker holds the job or the job is over.
 */
export type Claim =
  | { readonly job: ClaimedJob }
  | { readonly dueInMs: number }
  | 'missing'
  | 'taken';

interface ClaimedRow {
  readonly id: string;
  readonly user_id: string;
  readonly tenant_id: string;
  readonly type: string;
  readonly payload: string | null;
  readonly attempts: number;
  readonly token: number;
  readonly retry_count: number;
  readonly request_id: string;
}

/** The SQL condition that a worker may claim a job. */
const isDue = sql<boolean>`(state = 'PENDING' and available_at <= now()
  or state = 'ACTIVE' and held_until <= now())`;

/**
 * Claims those of the jobs that are due: jobs that wait, and jobs whose worker has let its lease
 * expire. Returns the results in the order of `ids`.
 */
export async function claimJobs(tx: Tx, ids: readonly string[]): Promise<Claim[]> {
  takesLock(tx, 'job');
  const { rows } = await sql<ClaimedRow>`
    with due as (
      select id from jobs
      where id = any(${ids}::uuid[])
        and ${isDue}
      order by id for update skip locked
    )
    update jobs
    set state = 'ACTIVE', attempts = attempts + 1, token = token + 1, held_until = ${leaseEnd()}
    from due where jobs.id = due.id
    returning jobs.id, user_id, tenant_id, type, payload, attempts, token, retry_count,
      request_id`.execute(tx);
  const claimed = new Map(rows.map((row) => [row.id, { job: toClaimed(row) }]));
  const others = ids.filter((id) => !claimed.has(id));
  const reasons = others.length === 0 ? undefined : await explainRefused(tx, others);
  return ids.map((id) => claimed.get(id) ?? reasons?.get(id) ?? 'missing');
}

function toClaimed(row: ClaimedRow): ClaimedJob {
  return {
    id: row.id,
    owner: { userId: row.user_id, tenantId: row.tenant_id },
    type: row.type,
    payload: row.payload === null ? null : JSON.parse(row.payload),
    attempts: row.attempts,
    token: row.token,
    retryCount: row.retry_count,
    requestId: row.request_id,
  };
}

/** Milliseconds after which a job is claimed again that could only just not be claimed. */
const againMs = 20;

/** Returns why jobs could not be claimed; without those that do not exist. */
async function explainRefused(tx: Tx, ids: readonly string[]): Promise<Map<string, Claim>> {
  const dueInMs = sql<number>`extract(epoch from available_at - now())::float8 * 1000`;
  const rows = await tx
    .selectFrom('jobs')
    .select(['id', 'state', dueInMs.as('dueInMs')])
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .execute();
  return new Map(
    rows.map(({ id, state, dueInMs: ms }) => [
      id,
      // A job that is due by now was committed, or locked, while it was being claimed.
      state === 'PENDING' ? { dueInMs: Math.max(Math.ceil(ms), againMs) } : 'taken',
    ]),
  );
}

/** Names a claim: a job and the fencing token that its worker got. */
export type Held = Pick<ClaimedJob, 'id' | 'token'>;

/** Renews leases. Resolves with the ids of the jobs whose claims still hold. */
export async function renewClaims(tx: Tx, held: readonly Held[]): Promise<ReadonlySet<string>> {
  takesLock(tx, 'job');
  const { rows } = await sql<{ id: string }>`
    with ${lockedClaims(held)}
    update jobs set held_until = ${leaseEnd()} from held where jobs.id = held.id
    returning jobs.id`.execute(tx);
  return new Set(rows.map(({ id }) => id));
}

/** Returns the common table expression `held`, which locks claims in the order of their ids. */
function lockedClaims(held: readonly Held[]) {
  return sql`held as (
    select jobs.id from jobs
    join unnest(${held.map(({ id }) => id)}::uuid[], ${held.map(({ token }) => token)}::bigint[])
      as claims (id, token) using (id, token)
    where state = 'ACTIVE'
    order by jobs.id for no key update of jobs
  )`;
}

/** How an attempt ended: with a result, in failure, or so that the job waits for another one. */
export interface Ended extends Held {
  readonly state: 'COMPLETED' | 'FAILED' | 'PENDING';
  /** JSON text; null unless the job is completed. */
  readonly result: string | null;
  /** A code; null unless the job has failed. */
  readonly error: string | null;
  readonly retryable: boolean | null;
  readonly erasesPayload: boolean;
  /** Milliseconds until a job that waits is due. */
  readonly pauseMs: number;
  /** Whether the attempt counts. One that a shutdown interrupted does not. */
  readonly isCounted: boolean;
}

/**
 * Stores how attempts ended, of each claim that still holds. Returns whether it did, in the order
 * of `ended`.
 */
export async function endAttempts(tx: Tx, ended: readonly Ended[]): Promise<boolean[]> {
  takesLock(tx, 'job');
  const column = <Name extends keyof Ended>(name: Name) => ended.map((end) => end[name]);
  const { rows } = await sql<{ id: string }>`
    with ${lockedClaims(ended)}
    update jobs set
      state = ends.state, held_until = null, result = ends.result, error = ends.error,
      retryable = ends.retryable,
      payload = case when ends.erases then null else payload end,
      attempts = attempts - case when ends.counted then 0 else 1 end,
      available_at = now() + make_interval(secs => ends.pause / 1000),
      finished_at = case when ends.state = 'PENDING' then null else now() end
    from held join unnest(
      ${column('id')}::uuid[], ${column('state')}::text[], ${column('result')}::text[],
      ${column('error')}::text[], ${column('retryable')}::boolean[],
      ${column('erasesPayload')}::boolean[], ${column('pauseMs')}::float8[],
      ${column('isCounted')}::boolean[]
    ) as ends (id, state, result, error, retryable, erases, pause, counted) using (id)
    where jobs.id = held.id
    returning jobs.id`.execute(tx);
  const stored = new Set(rows.map(({ id }) => id));
  return ended.map(({ id }) => stored.has(id));
}

/**
 * Returns a page of the jobs after `place` that a worker could claim now, in the order of their
 * ids.
 */
export function findDue(tx: Tx, place: string, limit: number) {
  return tx
    .selectFrom('jobs')
    .select(['id', 'type'])
    .where('id', '>', place)
    .where(isDue)
    .orderBy('id')
    .limit(limit)
    .execute();
}
