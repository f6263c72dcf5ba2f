import { stringify } from 'yaml';
import { auditRules } from './audit.ts';
import { budgetRules } from './budget.ts';
import { operationRules } from './operation.ts';
import { duration, type AlertingRule, type RuleGroup } from './rule.ts';

export const groups: readonly RuleGroup[] = [budgetRules, auditRules, operationRules];

/** Where an alert says its runbook is. Replace the host by that of your copy of the docs. */
const runbooks = 'https://probatio.example/docs/runbooks';

const heading =
  '# Made from charts/monitoring by `npm run rules`; a test fails when it is out of date.\n';

/** Returns charts/probatio/files/rules.yaml, the rules of Prometheus. */
export function renderRules(): string {
  return heading + stringify({ groups: groups.map(renderGroup) }, { lineWidth: 0 });
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
