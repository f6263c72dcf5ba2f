import type { Dashboard } from './dashboard.ts';
import { max, rate, since, sum } from './query.ts';

export const jobsDashboard: Dashboard = {
  uid: 'jobs',
  title: 'Jobs and maintenance',
  description: 'For operators: do jobs, side effects and maintenance tasks get done?',
  rows: [
    {
      title: 'Jobs',
      panels: [
        {
          title: 'Jobs by state',
          description: 'Jobs that wait, run or are over; those that are over are counted for ever.',
          kind: 'lines',
          unit: 'short',
          queries: [max('probatio_jobs', { by: ['state'] })],
        },
      ],
    },
    {
      title: 'Side effects',
      panels: [
        {
          title: 'Side effects that are due',
          description: 'E-mails, deletions and the like that are due and not done.',
          kind: 'lines',
          unit: 'short',
          queries: [max('probatio_outbox_messages', { by: ['kind'] })],
        },
        {
          title: 'Oldest side effect that is due',
          description: 'How long the oldest of each kind has been due.',
          kind: 'lines',
          unit: 's',
          queries: [max('probatio_outbox_oldest_age_seconds', { by: ['kind'] })],
        },
        {
          title: 'Parked side effects',
          description: 'Side effects that failed too often, and wait for drain-outbox.',
          kind: 'lines',
          unit: 'short',
          queries: [max('probatio_outbox_parked_messages', { by: ['kind'] })],
        },
      ],
    },
    {
      title: 'Maintenance',
      panels: [
        {
          title: 'Since the last success',
          description: 'How long ago each task succeeded. A task that never did has no line.',
          kind: 'lines',
          unit: 's',
          queries: [since('probatio_maintenance_last_success_timestamp_seconds', { by: ['task'] })],
        },
      ],
    },
    {
      title: 'Operator',
      panels: [
        {
          title: 'Pods of the operator that lead',
          description: 'It is 1 at all times, but for seconds when the leader changes.',
          kind: 'lines',
          unit: 'short',
          queries: [sum('operator_leader', { legend: 'leaders' })],
        },
        {
          title: 'Passes of the operator',
          description: 'Passes over all SigningKeys and VaultMaintenances, by result.',
          kind: 'lines',
          unit: 'cps',
          queries: [rate('operator_passes_total', { by: ['result'] })],
        },
        {
          title: 'Requests of the operator to the vault',
          description: 'Requests to the internal routes of each pod, by result.',
          kind: 'lines',
          unit: 'reqps',
          queries: [rate('operator_vault_requests_total', { by: ['result'] })],
        },
        {
          title: 'Broken watches of the operator',
          description: 'Watches of Kubernetes objects that ended with an error, and begin again.',
          kind: 'lines',
          unit: 'cps',
          queries: [rate('operator_watch_failures_total', { legend: 'watches' })],
        },
      ],
    },
  ],
};
