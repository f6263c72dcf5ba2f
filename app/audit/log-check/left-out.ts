import { sql } from 'kysely';
import { monthOf, readMonthsAway, type Month } from '../../audit-trail/archived-months.ts';
import type { Tx } from '../../db/database.ts';
import type { Finding } from './entry-check.ts';
import type { LogPlace } from './log-rows.ts';

/** The ids of the entry at a place of the log, and of the nearest ones of its trail. */
interface Surroundings {
  readonly here: string | null;
  readonly before: string | null;
  readonly after: string | null;
}

/**
 * Returns the findings without missing entries that may be in a month that is away, or that are
 * there by now. An entry may be in a month that is not before that of the entry before it, nor
 * after that of the next one.
 */
export async function withoutLeftOut(tx: Tx, findings: readonly Finding[]): Promise<Finding[]> {
  const missing = findings.filter(({ defect }) => defect === 'missing');
  if (missing.length === 0) return [...findings];
  const around = await readSurroundings(tx, missing);
  // Read last: what has returned by now was read as being here.
  const away = await readMonthsAway(tx);
  const kept = new Set(missing.filter((_, index) => isMissing(around[index], away)));
  return findings.filter((finding) => finding.defect !== 'missing' || kept.has(finding));
}

function isMissing(around: Surroundings | undefined, away: readonly Month[]): boolean {
  if (around === undefined) return true;
  const { here, before, after } = around;
  if (here !== null) return false;
  const first = (before === null ? undefined : monthOf(before)) ?? '';
  const last = (after === null ? undefined : monthOf(after)) ?? '9999-12';
  return !away.some((month) => month >= first && month <= last);
}

async function readSurroundings(
  tx: Tx,
  places: readonly LogPlace[],
): Promise<readonly Surroundings[]> {
  const { rows } = await sql<Surroundings>`
    select
      (select l.id from audit_log l
        where l.trail_id = place.trail_id and l.seq = place.seq) as here,
      (select l.id from audit_log l
        where l.trail_id = place.trail_id and l.seq < place.seq
        order by l.seq desc limit 1) as before,
      (select l.id from audit_log l
        where l.trail_id = place.trail_id and l.seq > place.seq
        order by l.seq limit 1) as after
    from unnest(
      ${places.map(({ trailId }) => trailId)}::bigint[],
      ${places.map(({ seq }) => seq)}::bigint[]
    ) with ordinality as place (trail_id, seq, n)
    order by place.n`.execute(tx);
  return rows;
}
