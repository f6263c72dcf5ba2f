import { alertThresholds } from '../../app/telemetry/thresholds.ts';
import { ruleThresholds } from '../monitoring/thresholds.ts';
import type { Dashboard } from './dashboard.ts';
import { max, quantile, rate, select, since, sum } from './query.ts';

const requests = 'http_server_request_duration_seconds';
const failures = `rate(${select(`${requests}_count`, 'http_response_status_code=~"5.."')}[5m])`;
const all = `rate(${select(`${requests}_count`)}[5m])`;
const login = ['login', 'db_operation_name'];
const pool = ['db_client_connection_pool_name'];

export const overviewDashboard: Dashboard = {
  uid: 'overview',
  title: 'Overview',
  description:
    'For whoever is on call: do requests succeed, are they fast, and what holds them up?',
  rows: [
    {
      title: 'Now',
      panels: [
        {
          title: 'Failed requests',
          description: 'The share of requests of the last 5 minutes that were answered with 5xx.',
          kind: 'number',
          unit: 'percentunit',
          queries: [{ expr: `(sum(${failures}) or vector(0)) / sum(${all})`, legend: 'failed' }],
          redFrom: ruleThresholds.errorBudget,
        },
        {
          title: 'Oldest entry without a signature',
          description: 'How long an audit entry has waited for the signer; red where it alerts.',
          kind: 'number',
          unit: 's',
          queries: [max('probatio_audit_unsealed_oldest_age_seconds')],
          redFrom: alertThresholds.backlogAgeSeconds,
        },
        {
          title: 'Age of the readings',
          description: 'If it grows, no app can read the database, and numbers from it are old.',
          kind: 'number',
          unit: 's',
          queries: [since('probatio_readings_timestamp_seconds')],
          redFrom: ruleThresholds.readingAgeSeconds,
        },
        {
          title: 'Versions',
          description: 'The processes of each version; two while an upgrade is under way.',
          kind: 'number',
          unit: 'short',
          queries: [sum('probatio_build_info', { by: ['version'] })],
        },
      ],
    },
    {
      title: 'Requests',
      panels: [
        {
          title: 'Requests by status',
          description: 'Responses a second by their status.',
          kind: 'lines',
          unit: 'reqps',
          queries: [rate(`${requests}_count`, { by: ['http_response_status_code'] })],
        },
        {
          title: 'Duration',
          description: 'How long the requests take, of all routes.',
          kind: 'lines',
          unit: 's',
          queries: [0.5, 0.95, 0.99].map((share) => quantile(share, requests)),
        },
        {
          title: 'Slowest routes',
          description: 'The ten routes with the greatest 95th percentile.',
          kind: 'lines',
          unit: 's',
          queries: [
            {
              expr: `topk(10, ${quantile(0.95, requests, { by: ['http_route'] }).expr})`,
              legend: '{{http_route}}',
            },
          ],
        },
        {
          title: 'Errors by code',
          description: 'Responses a second with an error, by the code in their body.',
          kind: 'lines',
          unit: 'reqps',
          queries: [rate('probatio_request_errors_total', { by: ['code'] })],
        },
        {
          title: 'Requests being served',
          description: 'Requests under way, open event streams among them.',
          kind: 'lines',
          unit: 'short',
          queries: [sum('http_server_active_requests', { by: ['http_request_method'] })],
        },
        {
          title: 'Event streams',
          description: 'Event streams that clients have open.',
          kind: 'lines',
          unit: 'short',
          queries: [sum('probatio_event_streams', { by: ['kind'] })],
        },
      ],
    },
    {
      title: 'Postgres',
      panels: [
        {
          title: 'Duration of statements',
          description: 'The 95th percentile, by login and kind of statement.',
          kind: 'lines',
          unit: 's',
          queries: [quantile(0.95, 'db_client_operation_duration_seconds', { by: login })],
        },
        {
          title: 'Connections',
          description: 'Connections in use and the most that there may be.',
          kind: 'lines',
          unit: 'short',
          queries: [
            sum('db_client_connection_count', {
              by: pool,
              legend: '{{db_client_connection_pool_name}} in use',
            }),
            sum('db_client_connection_max', {
              by: pool,
              legend: '{{db_client_connection_pool_name}} at most',
            }),
          ],
        },
        {
          title: 'Waiting for a connection',
          description: 'Transactions that wait since all connections are in use.',
          kind: 'lines',
          unit: 'short',
          queries: [sum('db_client_connection_pending_requests', { by: pool })],
        },
        {
          title: 'Readings that failed',
          description: 'Failed attempts to read the values of these dashboards from the database.',
          kind: 'lines',
          unit: 'cps',
          queries: [rate('probatio_readings_failed_total')],
        },
      ],
    },
  ],
};
