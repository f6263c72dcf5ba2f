import { alertThresholds, sharedThresholds } from '../../app/telemetry/thresholds.ts';
import { duration, type AlertingRule, type RuleGroup, type Scale } from './rule.ts';
import { ruleThresholds } from './thresholds.ts';

const { deadLetters, deadLetterAgeSeconds, backlog, backlogAgeSeconds } = alertThresholds;
const { pauseSeconds } = alertThresholds;
const { markAgeSeconds, unmarkedSeconds, signingKeyAgeSeconds } = sharedThresholds;
const { signerCallSeconds, sessionShare } = ruleThresholds;

const process = 'by (namespace, instance)';
/** Takes one of the equal values that the replicas read from the database. */
const once = (metric: string) => `max by (namespace) (${metric})`;

/** Returns the alerts about the audit log, the signer and its keys. */
export function auditRules(scale: Scale): RuleGroup {
  return { name: 'probatio-audit', recording: [], alerting: alertsAt(scale) };
}

function alertsAt(scale: Scale): readonly AlertingRule[] {
  return [
    {
      alert: 'SignerDown',
      severity: 'critical',
      expr:
        `max ${process} (probatio_sealing_paused{cause!="database"}) == 1 or ` +
        `max ${process} (signer_token_state{state="ready"}) == 0`,
      forSeconds: scale(pauseSeconds),
      summary: 'A process cannot have anything signed.',
    },
    {
      alert: 'SignerSlow',
      severity: 'warning',
      expr:
        'histogram_quantile(0.99, sum by (namespace, le) (rate(' +
        `probatio_signer_call_duration_seconds_bucket[${duration(scale(300))}]))) ` +
        `> ${signerCallSeconds}`,
      forSeconds: scale(600),
      summary: 'The signer takes long to answer.',
    },
    {
      alert: 'SessionsSaturated',
      severity: 'warning',
      expr:
        `max ${process} (signer_sessions_in_use / signer_sessions_max) >= ${sessionShare} and ` +
        `max ${process} (signer_queued_operations) > 0`,
      forSeconds: scale(300),
      summary: 'The sessions of the HSM are in use, and operations wait for one.',
    },
    {
      alert: 'UnsealedBacklog',
      severity: 'critical',
      expr: `${once('probatio_audit_unsealed_oldest_age_seconds')} >= ${scale(backlogAgeSeconds)}`,
      forSeconds: 0,
      summary: 'An audit entry has waited too long for its signature.',
    },
    {
      alert: 'UnsealedBacklog',
      severity: 'warning',
      expr: `${once('probatio_audit_unsealed_entries')} >= ${backlog}`,
      forSeconds: 0,
      summary: 'Many audit entries wait for their signature.',
    },
    {
      alert: 'LogBroken',
      severity: 'critical',
      expr: `${once('probatio_log_findings')} > 0`,
      forSeconds: 0,
      summary: 'Audit entries are damaged or missing.',
    },
    {
      alert: 'DLQStale',
      severity: 'critical',
      expr: `${once('probatio_dead_letter_oldest_age_seconds')} >= ${scale(deadLetterAgeSeconds)}`,
      forSeconds: 0,
      summary: 'An audit entry has been in the dead-letter queue for too long.',
    },
    {
      alert: 'DLQStale',
      severity: 'warning',
      expr: `${once('probatio_dead_letters')} >= ${deadLetters}`,
      forSeconds: 0,
      summary: 'Audit entries are in the dead-letter queue.',
    },
    {
      alert: 'MarkStale',
      severity: 'warning',
      expr: [markAgeSeconds, 24 * markAgeSeconds].map(scale).map(unmarkedGrowth).join(' or '),
      forSeconds: scale(unmarkedSeconds),
      summary: 'Entries are sealed, and no high-water mark is written.',
    },
    {
      alert: 'RotationOverdue',
      severity: 'warning',
      expr:
        'max by (namespace, purpose) (probatio_signing_key_age_seconds) ' +
        `> ${scale(signingKeyAgeSeconds)}`,
      forSeconds: scale(3_600),
      summary: 'A signing key has been active for more than a year.',
    },
  ];
}

/**
 * Selects vaults whose newest mark is older than a window within which entries were sealed: no mark
 * covers those. A vault that seals nothing writes no mark, and needs none.
 */
function unmarkedGrowth(windowSeconds: number): string {
  const window = duration(windowSeconds);
  const sealed = 'probatio_audit_sealed_entries';
  const growth =
    `${once(`max_over_time(${sealed}[${window}])`)} - ` +
    `min by (namespace) (min_over_time(${sealed}[${window}])) > 0`;
  return `(${once('probatio_mark_age_seconds')} > ${windowSeconds} and ${growth})`;
}
