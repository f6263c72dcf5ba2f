import { vault, type RuleCase } from './case.ts';

const leaderless = { alert: 'OperatorLeaderless', severity: 'warning' } as const;
const failing = { alert: 'OperatorFailing', severity: 'warning' } as const;
const leader = (pod: string) => `operator_leader{namespace="v",instance="${pod}"}`;
const passes = (result: string) =>
  `operator_passes_total{namespace="v",instance="a",result="${result}"}`;

export const operatorCases: readonly RuleCase[] = [
  {
    ...leaderless,
    input: { [leader('a')]: '0x20', [leader('b')]: '0x20' },
    at: '6m',
    fires: vault,
  },
  { ...leaderless, input: { [leader('a')]: '0x20', [leader('b')]: '1x20' }, at: '6m' },
  { ...leaderless, input: { [leader('a')]: '0x4 1x20' }, at: '8m' },
  {
    ...failing,
    input: { [passes('failed')]: '0+4x40', [passes('ok')]: '7x40' },
    at: '30m',
    fires: vault,
  },
  { ...failing, input: { [passes('failed')]: '0+4x40', [passes('ok')]: '0+1x40' }, at: '30m' },
  { ...failing, input: { [passes('failed')]: '3x40', [passes('ok')]: '0+4x40' }, at: '30m' },
];
