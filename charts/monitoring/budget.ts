import {
  duration,
  type AlertingRule,
  type RecordingRule,
  type RuleGroup,
  type Scale,
} from './rule.ts';
import { burnRates, ruleThresholds } from './thresholds.ts';

const { errorBudget, slowRequestSeconds } = ruleThresholds;
const requests = 'http_server_request_duration_seconds';
/** Routes whose duration depends on the size of a file, that stay open, or that operators call. */
const longRoutes = '/v1/internal/.*|.*/(?:events|download|export|upload|complete|parts/.*|purge.*)';

const failed = 'namespace:probatio_failed_requests:ratio_rate';
const slow = 'namespace:probatio_slow_requests:ratio_rate';

/**
 * Returns the service level objectives: 99.9 % of the requests of 30 days succeed, and are fast.
 * What is recorded has the name of its window in the table.
 */
export function budgetRules(scale: Scale): RuleGroup {
  return {
    name: 'probatio-budget',
    recording: windows().flatMap((seconds) => [
      failedRatio(duration(seconds), duration(scale(seconds))),
      slowRatio(duration(seconds), duration(scale(seconds))),
    ]),
    alerting: [
      ...burn(scale, 'ErrorBudgetBurn', failed, 'Too many requests fail: the error budget burns.'),
      ...burn(
        scale,
        'LatencyBudgetBurn',
        slow,
        'Too many requests are slow: the latency budget burns.',
      ),
    ],
  };
}

function windows(): readonly number[] {
  const all = [...burnRates.critical, ...burnRates.warning].flatMap((rate) => [
    rate.shortSeconds,
    rate.longSeconds,
  ]);
  return [...new Set(all)].sort((a, b) => a - b);
}

function failedRatio(name: string, window: string): RecordingRule {
  const all = `sum by (namespace) (rate(${requests}_count[${window}]))`;
  const failed5xx = `${requests}_count{http_response_status_code=~"5.."}`;
  const failures = `sum by (namespace) (rate(${failed5xx}[${window}]))`;
  return { record: `${failed}${name}`, expr: `(${failures} or 0 * ${all}) / ${all}` };
}

function slowRatio(name: string, window: string): RecordingRule {
  const route = `http_route!~"${longRoutes}"`;
  const all = `sum by (namespace) (rate(${requests}_count{${route}}[${window}]))`;
  // Prometheus 3 writes a whole bound with a decimal place, whatever a scrape has.
  const bound = `le=~"${slowRequestSeconds}|${slowRequestSeconds}[.]0"`;
  const inTime = `${requests}_bucket{${route},${bound}}`;
  const fast = `sum by (namespace) (rate(${inTime}[${window}]))`;
  return { record: `${slow}${name}`, expr: `1 - ${fast} / ${all}` };
}

function burn(
  scale: Scale,
  alert: string,
  ratio: string,
  summary: string,
): readonly AlertingRule[] {
  return (['critical', 'warning'] as const).map((severity) => ({
    alert,
    severity,
    expr: burnRates[severity]
      .map(({ factor, longSeconds, shortSeconds }) => {
        const limit = Number((factor * errorBudget).toPrecision(6));
        const [long, short] = [duration(longSeconds), duration(shortSeconds)];
        return `(${ratio}${long} > ${limit} and ${ratio}${short} > ${limit})`;
      })
      .join(' or '),
    forSeconds: scale(severity === 'critical' ? 2 * 60 : 60 * 60),
    summary,
  }));
}
