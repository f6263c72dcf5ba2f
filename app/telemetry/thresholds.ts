const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * The thresholds that the route `dlq/alerts` and the alerting rules of Prometheus have in common. A
 * vault may set others for the route (`AUDIT_ALERT_…`); these are the defaults, and the rules'.
 */
export const alertThresholds = {
  /** Entries in the dead-letter queue. */
  deadLetters: 1,
  deadLetterAgeSeconds: day,
  /** Entries that wait for their signature. */
  backlog: 10_000,
  backlogAgeSeconds: 5 * minute,
  /** How long a process has been unable to seal. */
  pauseSeconds: minute,
} as const;

/** The thresholds that `probatio status` and the alerting rules have in common. */
export const sharedThresholds = {
  /** The age of the newest mark while entries are sealed; the app writes one every 5 seconds. */
  markAgeSeconds: 15 * minute,
  /** How long sealed entries may lack a mark, once the newest mark is that old. */
  unmarkedSeconds: 5 * minute,
  signingKeyAgeSeconds: 365 * day,
  /** A task is late if its last success is older than this many of its intervals. */
  missedIntervals: 2,
} as const;

/** The interval at which a scheduler is to run each maintenance task, in seconds. */
export const taskIntervalSeconds = {
  'expire-uploads': hour,
  'verify-files': 2 * hour,
  'drain-outbox': 3 * hour,
  'retry-dlq': 6 * hour,
  'verify-log': day,
  reencrypt: day,
  'purge-accounts': day,
  'purge-jobs': day,
  'expire-documents': day,
  'collect-garbage': day,
} as const;

/** The maintenance tasks that remove what is over; the others look after what remains. */
export const purgingTasks: ReadonlySet<string> = new Set<keyof typeof taskIntervalSeconds>([
  'purge-accounts',
  'purge-jobs',
  'expire-uploads',
  'expire-documents',
  'collect-garbage',
]);
