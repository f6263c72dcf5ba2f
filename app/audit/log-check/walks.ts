import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
import type { WalkName } from '../../db/tables/maintenance/log-checks.ts';
import { countRows } from './log-rows.ts';

/** A walk through the whole log, which many runs continue. */
export interface Walk {
  readonly name: WalkName;
  readonly beganAt: Date;
  /** Days since the walk began, when this run began. */
  readonly days: number;
  /** Number of rows when the walk began. */
  readonly size: number;
  readonly checked: number;
  /** The key of the last row that was checked, as JSON; null before the first. */
  readonly place: string | null;
}

const tables = { entries: 'audit_log', trails: 'audit_trails' } as const;

/** Finds the walk that is in progress, or begins one. `advance` stores it. */
export async function findWalk(tx: Tx, name: WalkName): Promise<Walk> {
  const found = await tx
    .selectFrom('log_walks')
    .select(['name', 'began_at as beganAt', 'size', 'checked', 'place'])
    .select(sql<number>`(extract(epoch from now() - began_at) / 86400)::float8`.as('days'))
    .where('name', '=', name)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  if (found !== undefined) return found;
  const size = await countRows(tx, tables[name]);
  const { rows } = await sql<{ readonly now: Date }>`select now() as now`.execute(tx);
  return { name, beganAt: rows[0]?.now ?? new Date(), days: 0, size, checked: 0, place: null };
}

/**
 * Returns how many rows this run has to check so that the walk ends within `days`, if the next run
 * follows within a day: Infinity if the walk has to end now.
 */
export function countDue(walk: Walk, days: number): number {
  const share = (walk.days + 1) / days;
  return share >= 1 ? Infinity : Math.max(0, Math.ceil(share * walk.size) - walk.checked);
}

/** Stores how far a walk has come, and whether it has ended. */
export async function advance(
  tx: Tx,
  { name, beganAt, size, checked, place }: Walk,
  { isEnd }: { readonly isEnd: boolean },
): Promise<void> {
  takesLock(tx, 'log check');
  const state = {
    began_at: beganAt,
    size,
    checked,
    place,
    ended_at: isEnd ? sql<Date>`now()` : null,
  };
  await tx
    .insertInto('log_walks')
    .values({ name, ...state })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(state))
    .execute();
}
