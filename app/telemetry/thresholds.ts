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
