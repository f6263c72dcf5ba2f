import { createGroups, renderGroups } from '../../../charts/monitoring/render.ts';
import type { RuleGroup } from '../../../charts/monitoring/rule.ts';

/** By how much the durations and windows of rules are shorter than those of the chart. */
const factor = 20;
/** The intervals of maintenance tasks are hours, and would be minutes by the other factor. */
const maintenanceFactor = 400;
const maintenance: ReadonlySet<string> = new Set(['PurgeStale', 'MaintenanceStale']);

/**
 * Returns the rules of the chart with short durations, as a file of rules. The burn rates of the
 * error budget are missing: within a history of minutes any fault sets them off.
 */
export function fastRules(): string {
  const shorter = (by: number) => createGroups((seconds) => seconds / by);
  const groups = shorter(factor).map(({ name, recording, alerting }): RuleGroup => ({
    name,
    recording,
    alerting: alerting.filter(
      ({ alert }) => !maintenance.has(alert) && !alert.endsWith('BudgetBurn'),
    ),
  }));
  const tasks = shorter(maintenanceFactor).flatMap(({ alerting }) =>
    alerting.filter(({ alert }) => maintenance.has(alert)),
  );
  return renderGroups([...groups, { name: 'probatio-tasks', recording: [], alerting: tasks }]);
}
