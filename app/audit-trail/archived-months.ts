import type { Tx } from '../db/database.ts';

/** A month of the log in UTC: year and month, such as `2026-01`. */
export type Month = string;

/** Returns the month of the partition that an id belongs to; undefined after the year 9999. */
export function monthOf(id: string): Month | undefined {
  const time = new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
  return time.getUTCFullYear() > 9999 ? undefined : time.toISOString().slice(0, 7);
}

/** The months that ever left the log, oldest first. */
interface Months {
  readonly away: readonly Month[];
  /** Those that were attached again. */
  readonly returned: readonly Month[];
}

/** Reads which months left the log. */
export async function readMonths(tx: Tx): Promise<Months> {
  const rows = await tx
    .selectFrom('audit_archives')
    .select(['month', 'state'])
    .orderBy('month')
    .execute();
  const of = (isReturned: boolean) =>
    rows.filter(({ state }) => (state === 'ATTACHED') === isReturned).map(({ month }) => month);
  return { away: of(false), returned: of(true) };
}

/** Reads the months that are away from the log, oldest first. */
export async function readMonthsAway(tx: Tx): Promise<readonly Month[]> {
  return (await readMonths(tx)).away;
}

/** Returns whether an entry with this id would be in one of the months. */
export function isOfMonths(months: readonly Month[], id: string): boolean {
  const month = monthOf(id);
  return month !== undefined && months.includes(month);
}
