import { Count } from '../definition/forms.ts';
import { setting } from '../definition/setting.ts';
import { alertThresholds } from '../../telemetry/thresholds.ts';

/** Settings of the audit log. */
export const auditSettings = {
  title: 'Audit log',
  settings: {
    backlogLimit: setting('AUDIT_BACKLOG_LIMIT', Count.default(100_000), {
      unit: 'entries',
      description:
        'How many unsealed entries may wait for the signer. Beyond that, requests that write are ' +
        'answered with 503, whoever sends them. The entries are counted once a second.',
    }),
    ownerBacklogLimit: setting('AUDIT_OWNER_BACKLOG_LIMIT', Count.default(10_000), {
      unit: 'entries',
      description:
        'How many unsealed entries of one owner may wait for the signer. Beyond that, requests ' +
        'of this user that write are answered with 503, while those of others go on.',
    }),
    tallyLimit: setting('AUDIT_TALLY_LIMIT', Count.default(10_000), {
      unit: 'events',
      description:
        'How many different events (failed logins, reads of proofs, uses of internal API keys) ' +
        'may be counted apart until they become entries. Further events are counted together, ' +
        'without their details.',
    }),
  },
};

/** Settings of the thresholds of alerts. */
export const alertSettings = {
  title: 'Alerts',
  introduction:
    'The route `dlq/alerts` reports values that have reached a threshold ([dlq.md](dlq.md)).',
  settings: {
    deadLetters: setting('AUDIT_ALERT_DEAD_LETTERS', Count.default(alertThresholds.deadLetters), {
      unit: 'entries',
      description: 'Number of entries in the dead-letter queue that raises `dead_letters`.',
    }),
    deadLetterAgeSeconds: setting(
      'AUDIT_ALERT_DEAD_LETTER_AGE_SECONDS',
      Count.default(alertThresholds.deadLetterAgeSeconds),
      {
        unit: 'seconds',
        description:
          'Age of the oldest entry in the dead-letter queue that raises `dead_letter_old`.',
      },
    ),
    backlog: setting('AUDIT_ALERT_BACKLOG', Count.default(alertThresholds.backlog), {
      unit: 'entries',
      description: 'Number of unsealed entries that raises `backlog_large`.',
    }),
    backlogAgeSeconds: setting(
      'AUDIT_ALERT_BACKLOG_AGE_SECONDS',
      Count.default(alertThresholds.backlogAgeSeconds),
      {
        unit: 'seconds',
        description: 'Age of the oldest unsealed entry that raises `backlog_old`.',
      },
    ),
    pauseSeconds: setting(
      'AUDIT_ALERT_PAUSE_SECONDS',
      Count.default(alertThresholds.pauseSeconds),
      {
        unit: 'seconds',
        description:
          'How long the process that serves the request must have been unable to seal to raise ' +
          '`sealing_paused`.',
      },
    ),
    storageFreePercent: setting('STORAGE_ALERT_FREE_PERCENT', Count.max(99).default(10), {
      unit: 'percent',
      description:
        'Driver `filesystem`: the share of free space, or of free inodes, of the file system of ' +
        'the objects below which `storage_low` is raised. Choose it so that uploads do not use ' +
        'the rest up before you have added space.',
    }),
  },
};
