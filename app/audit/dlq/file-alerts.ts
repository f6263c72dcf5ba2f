import type { Alert } from './alert.ts';

/** Stored files with a fault. `since` is when the first was found; undefined without any. */
interface FaultyFiles {
  readonly count: number;
  readonly since: Date | undefined;
}

/** The faults of stored files that checks have found. */
export interface FileFaults {
  readonly damaged: FaultyFiles;
  /** Files that no check could read for a day, although the store answers. */
  readonly unreadable: FaultyFiles;
}

/** Returns the alerts about stored files. */
export function fileAlerts({ damaged, unreadable }: FileFaults): readonly (Alert | undefined)[] {
  return [
    alertOf(damaged, {
      code: 'files_damaged',
      severity: 'critical',
      message: 'Stored files are damaged or missing: restore them from a backup of the store.',
    }),
    alertOf(unreadable, {
      code: 'files_unreadable',
      severity: 'warning',
      message: 'Stored files could not be read for a day, although the object store answers.',
    }),
  ];
}

function alertOf(
  { count, since }: FaultyFiles,
  wording: Pick<Alert, 'code' | 'severity' | 'message'>,
): Alert | undefined {
  return since === undefined ? undefined : { ...wording, value: count, threshold: 1, since };
}
