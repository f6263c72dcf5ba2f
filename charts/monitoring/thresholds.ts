const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/** The thresholds that the rules alone have; app/telemetry/thresholds.ts has the others. */
export const ruleThresholds = {
  /** The share of requests that may fail, or be slow. */
  errorBudget: 0.001,
  /** A request that takes longer is slow. It must be a bucket of the histogram of requests. */
  slowRequestSeconds: 1,
  /** The duration of calls of the signer that 99 % of them are not to exceed. */
  signerCallSeconds: 1,
  /** The share of the sessions of the HSM in use. */
  sessionShare: 0.9,
  /** Feeds that were refused within 15 minutes. */
  refusedFeeds: 10,
  /** How long no pass of the operator may succeed. It makes one every 15 seconds. */
  operatorIdleSeconds: 15 * minute,
  /** The age of what was read from the database, which is read every 15 seconds. */
  readingAgeSeconds: 2 * minute,
} as const;

/** A rate at which the error budget of 30 days is used up, over a long and a short window. */
interface BurnRate {
  readonly factor: number;
  readonly longSeconds: number;
  readonly shortSeconds: number;
}

/** The burn rates of each severity, as the SRE workbook of Google advises. */
export const burnRates: Readonly<Record<'critical' | 'warning', readonly BurnRate[]>> = {
  critical: [
    { factor: 14.4, longSeconds: hour, shortSeconds: 5 * minute },
    { factor: 6, longSeconds: 6 * hour, shortSeconds: 30 * minute },
  ],
  warning: [
    { factor: 3, longSeconds: day, shortSeconds: 2 * hour },
    { factor: 1, longSeconds: 3 * day, shortSeconds: 6 * hour },
  ],
};
