import { duration, type RuleGroup, type Scale } from './rule.ts';
import { ruleThresholds } from './thresholds.ts';

const { operatorIdleSeconds } = ruleThresholds;

/** Returns the alerts about the operator, which are silent where none is installed. */
export function operatorRules(scale: Scale): RuleGroup {
  const passed = (result: string) =>
    'sum by (namespace) (increase(operator_passes_total' +
    `{result="${result}"}[${duration(scale(operatorIdleSeconds))}]))`;
  return {
    name: 'probatio-operator',
    recording: [],
    alerting: [
      {
        alert: 'OperatorLeaderless',
        severity: 'warning',
        expr: 'max by (namespace) (operator_leader) == 0',
        forSeconds: scale(300),
        summary: 'No pod of the operator leads, so that nothing is reconciled.',
      },
      {
        alert: 'OperatorFailing',
        severity: 'warning',
        expr: `${passed('failed')} > 0 unless ${passed('ok')} > 0`,
        forSeconds: scale(300),
        summary: 'Every pass of the operator fails.',
      },
    ],
  };
}
