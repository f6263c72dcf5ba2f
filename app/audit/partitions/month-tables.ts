import { firstIdOf } from '../../audit-trail/first-id.ts';
import type { Month } from '../../audit-trail/archived-months.ts';

/** The two partitions of a month, and the range of the ids in them. */
export interface MonthTables {
  readonly month: Month;
  /** The partition of `audit_log`. */
  readonly log: string;
  /** The partition of `audit_seals`. */
  readonly seals: string;
  readonly firstId: string;
  /** The first id after the month. */
  readonly endId: string;
}

/** Returns the names of a month's tables. Throws RangeError unless it has the form `2026-01`. */
export function tablesOf(month: Month): MonthTables {
  const [, year = '', number = ''] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(month) ?? [];
  if (year === '') throw new RangeError('a month has the form 2026-01');
  const suffix = `${year}_${number}`;
  const begin = (index: number) => new Date(Date.UTC(Number(year), index));
  return {
    month,
    log: `audit_log_${suffix}`,
    seals: `audit_seals_${suffix}`,
    firstId: firstIdOf(begin(Number(number) - 1)),
    endId: firstIdOf(begin(Number(number))),
  };
}
