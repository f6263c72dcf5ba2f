import { ofProcess, vault, type RuleCase } from './case.ts';

const labels = 'namespace="v",instance="a"';
const signer = { alert: 'SignerDown', severity: 'critical' } as const;
const slow = { alert: 'SignerSlow', severity: 'warning' } as const;
const saturated = { alert: 'SessionsSaturated', severity: 'warning' } as const;
const mark = { alert: 'MarkStale', severity: 'warning' } as const;

const paused = (cause: string) => `probatio_sealing_paused{${labels},cause="${cause}"}`;
const ready = `signer_token_state{${labels},state="ready"}`;
const call = (le: string) => `probatio_signer_call_duration_seconds_bucket{${labels},le="${le}"}`;
const sessions = {
  [`signer_sessions_in_use{${labels}}`]: '9x20',
  [`signer_sessions_max{${labels}}`]: '10x20',
};
const queued = `signer_queued_operations{${labels}}`;
const markAge = `probatio_mark_age_seconds{${labels}}`;
const sealed = `probatio_audit_sealed_entries{${labels}}`;

/** Returns a case in which a gauge of the database reaches the threshold, and one in which not. */
function threshold(
  name: Pick<RuleCase, 'alert' | 'severity'>,
  metric: string,
  { reached, missed }: { readonly reached: number; readonly missed: number },
): readonly RuleCase[] {
  const series = `${metric}{${labels}}`;
  return [
    { ...name, input: { [series]: `${reached}x5` }, at: '1m', fires: vault },
    { ...name, input: { [series]: `${missed}x5` }, at: '5m' },
  ];
}

export const auditCases: readonly RuleCase[] = [
  { ...signer, input: { [paused('other')]: '1x10' }, at: '2m', fires: ofProcess },
  { ...signer, input: { [paused('database')]: '1x10', [paused('other')]: '0x10' }, at: '2m' },
  { ...signer, input: { [paused('other')]: '0 1 0 0 1 0', [ready]: '1x10' }, at: '4m' },
  { ...signer, input: { [paused('other')]: '0x10', [ready]: '0x10' }, at: '2m', fires: ofProcess },
  {
    ...slow,
    input: { [call('1')]: '0+90x20', [call('2.5')]: '0+100x20', [call('+Inf')]: '0+100x20' },
    at: '15m',
    fires: vault,
  },
  { ...slow, input: { [call('1')]: '0+100x20', [call('+Inf')]: '0+100x20' }, at: '15m' },
  { ...saturated, input: { ...sessions, [queued]: '3x20' }, at: '10m', fires: ofProcess },
  { ...saturated, input: { ...sessions, [queued]: '0x20' }, at: '10m' },
  ...threshold(
    { alert: 'UnsealedBacklog', severity: 'critical' },
    'probatio_audit_unsealed_oldest_age_seconds',
    { reached: 300, missed: 299 },
  ),
  ...threshold(
    { alert: 'UnsealedBacklog', severity: 'warning' },
    'probatio_audit_unsealed_entries',
    { reached: 10_000, missed: 9_999 },
  ),
  ...threshold({ alert: 'LogBroken', severity: 'critical' }, 'probatio_log_findings', {
    reached: 1,
    missed: 0,
  }),
  ...threshold(
    { alert: 'DLQStale', severity: 'critical' },
    'probatio_dead_letter_oldest_age_seconds',
    { reached: 86_400, missed: 86_399 },
  ),
  ...threshold({ alert: 'DLQStale', severity: 'warning' }, 'probatio_dead_letters', {
    reached: 1,
    missed: 0,
  }),
  { ...mark, input: { [markAge]: '0+60x40', [sealed]: '0+5x40' }, at: '30m', fires: vault },
  // Nothing is sealed, so that no mark is due.
  { ...mark, input: { [markAge]: '0+60x900', [sealed]: '100x900' }, at: '15h' },
  { ...mark, input: { [markAge]: '5x40', [sealed]: '0+5x40' }, at: '30m' },
  // An entry ends a long calm, and its mark follows.
  { ...mark, input: { [markAge]: '0+60x30 5x10', [sealed]: '100x29 101x11' }, at: '31m' },
  {
    alert: 'RotationOverdue',
    severity: 'warning',
    input: { 'probatio_signing_key_age_seconds{namespace="v",purpose="audit"}': '31536001x80' },
    at: '70m',
    fires: { ...vault, purpose: 'audit' },
  },
  {
    alert: 'RotationOverdue',
    severity: 'warning',
    input: { 'probatio_signing_key_age_seconds{namespace="v",purpose="audit"}': '31536000x80' },
    at: '70m',
  },
];
