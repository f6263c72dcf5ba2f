import { ofProcess, vault, type RuleCase } from './case.ts';

const labels = 'namespace="v",instance="a"';
const target = { alert: 'TargetAbsent', severity: 'critical' } as const;
const refused = { alert: 'StartRefused', severity: 'critical' } as const;
const readings = { alert: 'ReadingsStale', severity: 'critical' } as const;
const parked = { alert: 'OutboxParked', severity: 'warning' } as const;
const purge = { alert: 'PurgeStale', severity: 'warning' } as const;
const maintenance = { alert: 'MaintenanceStale', severity: 'warning' } as const;
const feeds = { alert: 'FeedsFull', severity: 'warning' } as const;

const container = { ...vault, pod: 'probatio-1', container: 'app' };
const ofContainer = 'namespace="v",pod="probatio-1",container="app"';
const exitCode = `kube_pod_container_status_last_terminated_exitcode{${ofContainer}}`;
const isReady = `kube_pod_container_status_ready{${ofContainer}}`;
const up = `up{${labels},job="probatio-metrics"}`;
const app = { [`probatio_build_info{${labels}}`]: '1x20' };
const signer = { [`signer_sessions_max{${labels}}`]: '4x20' };
const readAt = `probatio_readings_timestamp_seconds{${labels}}`;
const messages = `probatio_outbox_parked_messages{${labels},kind="email"}`;
const streams = (code: string) => `probatio_request_errors_total{${labels},code="${code}"}`;

const lastOf = (task: string) =>
  `probatio_maintenance_last_success_timestamp_seconds{${labels},task="${task}"}`;
const lateTask = (task: string) => ({ ...vault, task });

export const operationCases: readonly RuleCase[] = [
  {
    ...target,
    input: { [up]: '0x20', ...app, ...signer },
    at: '6m',
    fires: { ...ofProcess, job: 'probatio-metrics' },
  },
  { ...target, input: { [up]: '1x20', ...app }, at: '6m', fires: {} },
  { ...target, input: { [up]: '1x20', ...signer }, at: '6m', fires: {} },
  { ...target, input: { [up]: '1x20', ...app, ...signer }, at: '6m' },
  { ...refused, input: { [exitCode]: '78x20', [isReady]: '0x20' }, at: '5m', fires: container },
  { ...refused, input: { [exitCode]: '78x20', [isReady]: '1x20' }, at: '5m' },
  { ...refused, input: { [exitCode]: '1x20', [isReady]: '0x20' }, at: '5m' },
  { ...readings, input: { [readAt]: '0x20' }, at: '5m', fires: vault },
  { ...readings, input: { [readAt]: '0+60x20' }, at: '5m' },
  { ...parked, input: { [messages]: '2x5' }, at: '1m', fires: { ...vault, kind: 'email' } },
  { ...parked, input: { [messages]: '0x5' }, at: '5m' },
  {
    ...purge,
    input: { [lastOf('expire-uploads')]: '60x150' },
    at: '125m',
    fires: lateTask('expire-uploads'),
  },
  { ...purge, input: { [lastOf('expire-uploads')]: '60x150' }, at: '119m' },
  {
    ...purge,
    input: { [lastOf('purge-jobs')]: '60x3000' },
    at: '49h',
    fires: lateTask('purge-jobs'),
  },
  { ...purge, input: { [lastOf('purge-jobs')]: '60x3000' }, at: '47h' },
  // The task has never succeeded.
  {
    ...purge,
    input: { [lastOf('expire-uploads')]: '0x150' },
    at: '125m',
    fires: lateTask('expire-uploads'),
  },
  { ...purge, input: { [lastOf('expire-uploads')]: '0x150' }, at: '119m' },
  { ...purge, input: { [lastOf('verify-files')]: '60x250' }, at: '245m' },
  {
    ...maintenance,
    input: { [lastOf('verify-files')]: '60x250' },
    at: '245m',
    fires: lateTask('verify-files'),
  },
  { ...maintenance, input: { [lastOf('verify-files')]: '60x250' }, at: '239m' },
  { ...feeds, input: { [streams('too_many_feeds')]: '0+1x40' }, at: '30m', fires: vault },
  { ...feeds, input: { [streams('too_many_feeds')]: '0+0.5x40' }, at: '30m' },
  { ...feeds, input: { [streams('invalid_proof')]: '0+9x40' }, at: '30m' },
];
