import type { ExpectedTable } from './expected-tables.ts';
import type { PolicyFacts, TableFacts } from './table-facts.ts';

/**
 * Returns a difference between the row-level security of the database and that of the code, with
 * the remedy, in one line; undefined if there is none.
 */
export function findTableProblem(
  expected: readonly ExpectedTable[],
  actual: readonly TableFacts[],
): string | undefined {
  for (const table of expected) {
    const found = actual.find(({ name }) => name === table.name);
    if (found === undefined) return `the database has no table ${table.name}: run probatio migrate`;
  }
  for (const table of [...expected, ...expectPartitions(expected, actual)]) {
    const found = actual.find(({ name }) => name === table.name);
    const problem = found === undefined ? undefined : findDifference(table, found);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Returns the partitions, which have no policies: nobody reads them but through their parents. */
function expectPartitions(
  expected: readonly ExpectedTable[],
  actual: readonly TableFacts[],
): readonly ExpectedTable[] {
  return actual.flatMap(({ name, parent }) => {
    const table = expected.find((other) => other.name === parent);
    return table === undefined ? [] : [{ ...table, name, policies: [] }];
  });
}

const restore =
  'run probatio migrate, or restore what was changed, as app/db/baseline and migrations have it';

function findDifference(expected: ExpectedTable, actual: TableFacts): string | undefined {
  const { name } = expected;
  if (expected.isView) {
    if (actual.isInvoker) return undefined;
    return `the view ${name} reads as its owner: alter view ${name} set (security_invoker = true)`;
  }
  if (!actual.isEnabled) {
    return `row-level security of ${name} is off: alter table ${name} enable row level security`;
  }
  if (expected.isForced && !actual.isForced) {
    return `row-level security of ${name} is lax: alter table ${name} force row level security`;
  }
  for (const policy of expected.policies) {
    const found = actual.policies.find((other) => other.name === policy.name);
    if (found === undefined) return `${name} lacks the policy ${policy.name}: ${restore}`;
    if (!isSame(name, policy, found))
      return `the policy ${policy.name} of ${name} differs: ${restore}`;
  }
  // A restrictive policy, as a later release may add one, shows no row that was hidden.
  const extra = actual.policies.find(
    ({ name: policy, isRestrictive }) =>
      !isRestrictive && !expected.policies.some((other) => other.name === policy),
  );
  if (extra !== undefined) {
    return `${name} has a policy that is not the vault's: drop policy ${extra.name} on ${name}`;
  }
  const trigger = expected.triggers.find((each) => !actual.triggers.includes(each));
  if (trigger !== undefined) {
    return `${name} lacks the trigger ${trigger}, or it is off: ${restore}`;
  }
  return undefined;
}

function isSame(table: string, a: PolicyFacts, b: PolicyFacts): boolean {
  return (
    a.command === b.command &&
    a.isRestrictive === b.isRestrictive &&
    a.roles.toSorted().join() === b.roles.toSorted().join() &&
    essenceOf(table, a.using) === essenceOf(table, b.using) &&
    essenceOf(table, a.check) === essenceOf(table, b.check)
  );
}

/**
 * Returns an expression without what Postgres adds, leaves out or changes when it prints the
 * expression: casts of constants, parentheses, white space, capitals, lists of `in`, and the name
 * of the table itself.
 */
function essenceOf(table: string, expression: string | null): string | null {
  if (expression === null) return null;
  return expression
    .toLowerCase()
    .replace(/\bin \(('[^)]*')\)/g, '= any (array[$1])')
    .replace(/::\w+(\[\])?/g, '')
    .replaceAll(`${table}.`, '')
    .replace(/[\s()]/g, '');
}
