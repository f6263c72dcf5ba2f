import { vault, type RuleCase } from './case.ts';

const requests = 'http_server_request_duration_seconds';
const route = 'namespace="v",http_route="/v1/usage"';

/** Returns 10,000 requests a minute, so many of which fail. */
function failing(failures: number): RuleCase['input'] {
  const series = (status: number) =>
    `${requests}_count{${route},http_response_status_code="${status}"}`;
  return { [series(200)]: `0+${10_000 - failures}x120`, [series(503)]: `0+${failures}x120` };
}

/** Returns 10,000 requests a minute to a route, so many of which take longer than a second. */
function slow(requestsThatAre: number, ofRoute = route, le = '1'): RuleCase['input'] {
  return {
    [`${requests}_bucket{${ofRoute},le="${le}"}`]: `0+${10_000 - requestsThatAre}x120`,
    [`${requests}_count{${ofRoute}}`]: '0+10000x120',
  };
}

/** Prometheus 3 writes the bound of a bucket in another way. */
export const boundCases: readonly RuleCase[] = [
  {
    alert: 'LatencyBudgetBurn',
    severity: 'critical',
    input: slow(200, route, '1.0'),
    at: '15m',
    fires: vault,
  },
];

export const budgetCases: readonly RuleCase[] = (
  [
    ['ErrorBudgetBurn', failing],
    ['LatencyBudgetBurn', slow],
  ] as const
).flatMap(([alert, input]): readonly RuleCase[] => [
  { alert, severity: 'critical', input: input(200), at: '15m', fires: vault },
  { alert, severity: 'critical', input: input(50), at: '15m' },
  { alert, severity: 'warning', input: input(20), at: '90m', fires: vault },
  { alert, severity: 'warning', input: input(9), at: '90m' },
]);

/** A download may take long. */
export const longRouteCases: readonly RuleCase[] = [
  '/v1/documents/:id/download',
  '/v1/sync/events',
  '/v1/internal/maintenance/verify-log',
].map((template) => ({
  alert: 'LatencyBudgetBurn',
  severity: 'critical',
  input: slow(9_000, `namespace="v",http_route="${template}"`),
  at: '15m',
}));
