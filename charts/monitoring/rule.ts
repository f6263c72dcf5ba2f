/** How soon somebody must act: `critical` at once, `warning` within the working day. */
export type Severity = 'critical' | 'warning';

/** A query whose result Prometheus keeps as a series of its own. */
export interface RecordingRule {
  readonly record: string;
  readonly expr: string;
}

/** A condition that somebody should act on; docs/runbooks has a page with the name of the alert. */
export interface AlertingRule {
  readonly alert: string;
  readonly severity: Severity;
  /** A query that returns a series for each thing that the alert is about. */
  readonly expr: string;
  /** How long the query must return the series before the alert fires, in seconds. */
  readonly forSeconds: number;
  /** A sentence that says what is wrong. */
  readonly summary: string;
}

export interface RuleGroup {
  readonly name: string;
  readonly recording: readonly RecordingRule[];
  readonly alerting: readonly AlertingRule[];
}

const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
] as const;

/**
 * Returns the seconds for which a rule waits, or over which it looks, for those of the table. The
 * rules of the chart have those of the table; tests divide all of them by one factor.
 */
export type Scale = (seconds: number) => number;

/** Returns a number of seconds as a duration of Prometheus, such as `5m`, to the millisecond. */
export function duration(seconds: number): string {
  if (!Number.isInteger(seconds)) return `${Math.round(1_000 * seconds)}ms`;
  const unit = units.find(([, size]) => seconds >= size && seconds % size === 0);
  return unit === undefined ? `${seconds}s` : `${seconds / unit[1]}${unit[0]}`;
}
