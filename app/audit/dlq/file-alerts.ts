import type { Alert } from './alert.ts';

/** Things with a fault. `since` is when the first was found; undefined without any. */
interface Faults {
  readonly count: number;
  readonly since: Date | undefined;
}

/** The faults of stored files that checks have found. */
export interface FileFaults {
  readonly damaged: Faults;
  /** Files that no check could read for a day, although the store answers. */
  readonly unreadable: Faults;
}

/** Returns the alerts about stored files. */
export function fileAlerts({ damaged, unreadable }: FileFaults): readonly (Alert | undefined)[] {
  return [
    faultAlert(damaged, {
      code: 'files_damaged',
      severity: 'critical',
      message: 'Stored files are damaged or missing: restore them from a backup of the store.',
    }),
    faultAlert(unreadable, {
      code: 'files_unreadable',
      severity: 'warning',
      message: 'Stored files could not be read for a day, although the object store answers.',
    }),
  ];
}

/** Returns the alert about faults; undefined if there are none. */
export function faultAlert(
  { count, since }: Faults,
  wording: Pick<Alert, 'code' | 'severity' | 'message'>,
): Alert | undefined {
  return since === undefined ? undefined : { ...wording, value: count, threshold: 1, since };
}
