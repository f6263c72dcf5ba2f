/** A condition that an operator should examine. */
export interface Alert {
  readonly code:
    | 'dead_letters'
    | 'dead_letter_old'
    | 'backlog_large'
    | 'backlog_old'
    | 'sealing_paused'
    | 'storage_full'
    | 'storage_low'
    | 'files_damaged'
    | 'files_unreadable'
    | 'log_damaged'
    | 'partitions_few'
    | 'shared_client_address'
    | 'isolation_broken'
    | 'clock_skew';
  readonly severity: 'warning' | 'critical';
  readonly message: string;
  /**
   * A number of entries for `dead_letters`, `backlog_large` and `log_damaged`, of files for
   * `files_damaged` and `files_unreadable`, of users for `shared_client_address`, of months for
   * `partitions_few`, the free percentage for `storage_low`; seconds for the other codes, since
   * when or by which.
   */
  readonly value: number;
  readonly threshold: number;
  /** When the condition began, or when this process first found it. */
  readonly since: Date;
}

/** The parts of an alert that do not depend on measured values. */
export type Wording = Pick<Alert, 'code' | 'severity' | 'message'>;

export interface Age {
  readonly since: Date;
  readonly seconds: number;
}

/** Returns an age in whole seconds, which is 0 if a clock was set back meanwhile. */
export function ageAt(now: Date, since: Date | undefined): Age | undefined {
  if (since === undefined) return undefined;
  return { since, seconds: Math.max(0, Math.floor((now.getTime() - since.getTime()) / 1_000)) };
}

/** Returns the alert for an age that has reached its threshold in seconds. */
export function tooLong(
  age: Age | undefined,
  threshold: number,
  wording: Wording,
): Alert | undefined {
  if (age === undefined || age.seconds < threshold) return undefined;
  return { ...wording, value: age.seconds, threshold, since: age.since };
}

/** Months of partitions ahead, below which an alert is raised. */
const fewMonths = 3;

/** Creates the function that returns the alert about the months ahead; undefined if enough are. */
export function createPartitionAlert(clock: () => Date) {
  let since: Date | undefined;
  return (months: number): Alert | undefined => {
    since = months < fewMonths ? (since ?? clock()) : undefined;
    if (since === undefined) return undefined;
    return {
      code: 'partitions_few',
      severity: 'critical',
      message: 'The audit log lacks partitions for the coming months: run verify-log.',
      value: months,
      threshold: fewMonths,
      since,
    };
  };
}
