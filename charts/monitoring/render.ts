import { stringify } from 'yaml';
import { auditRules } from './audit.ts';
import { budgetRules } from './budget.ts';
import { operationRules } from './operation.ts';
import { operatorRules } from './operator.ts';
import { duration, type AlertingRule, type RuleGroup, type Scale } from './rule.ts';

/** The rules of the chart. */
export const groups = createGroups((seconds) => seconds);

/** Returns all rules, for durations and windows of this scale. */
export function createGroups(scale: Scale): readonly RuleGroup[] {
  return [budgetRules(scale), auditRules(scale), operationRules(scale), operatorRules(scale)];
}

/** Where an alert says its runbook is. Replace the host by that of your copy of the docs. */
const runbooks = 'https://probatio.example/docs/runbooks';

const heading =
  '# Made from charts/monitoring by `npm run rules`; a test fails when it is out of date.\n';

/** Returns charts/probatio/files/rules.yaml, the rules of Prometheus. */
export function renderRules(): string {
  return heading + renderGroups(groups);
}

/** Returns a file of rules of Prometheus. */
export function renderGroups(rules: readonly RuleGroup[]): string {
  return stringify({ groups: rules.map(renderGroup) }, { lineWidth: 0 });
}

function renderGroup({ name, recording, alerting }: RuleGroup) {
  return { name, rules: [...recording, ...alerting.map(renderAlert)] };
}

function renderAlert({ alert, severity, expr, forSeconds, summary }: AlertingRule) {
  const wait = forSeconds === 0 ? {} : { for: duration(forSeconds) };
  return { alert, expr, ...wait, labels: { severity }, annotations: annotationsOf(alert, summary) };
}

/** Returns the annotations of an alert. */
export function annotationsOf(alert: string, summary: string) {
  return { summary, runbook_url: `${runbooks}/${alert}.md` };
}
