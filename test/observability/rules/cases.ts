import { auditCases } from './audit-cases.ts';
import { boundCases, budgetCases, longRouteCases } from './budget-cases.ts';
import type { RuleCase } from './case.ts';
import { operationCases } from './operation-cases.ts';
import { operatorCases } from './operator-cases.ts';

export const cases: readonly RuleCase[] = [
  ...budgetCases,
  ...boundCases,
  ...longRouteCases,
  ...auditCases,
  ...operationCases,
  ...operatorCases,
];
