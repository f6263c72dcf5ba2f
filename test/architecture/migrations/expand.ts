import type { MigrationPlan } from '../../../app/db/migrating/plan.ts';

/** Statements that the release before does not survive, or that block it, by what they do. */
const refused: Readonly<
  Record<string, (statement: string, created: ReadonlySet<string>) => boolean>
> = {
  'drops something': (statement) =>
    /^drop\s/.test(statement) ||
    /^alter\s+table\b[^']*\bdrop\b(?!\s+(?:not\s+null|default|expression|identity)\b)/.test(
      statement,
    ),
  'renames something': (statement) => /^alter\b[^']*\brename\b/.test(statement),
  'changes a type': (statement) =>
    /^alter\s+table\b[^']*\balter\s+(?:column\s+)?"?\w+"?\s+(?:set\s+data\s+)?type\b/.test(
      statement,
    ),
  'adds a constraint that is valid at once: add it not valid': (statement, created) =>
    altersExisting(statement, created) &&
    partsOf(statement).some(
      (part) =>
        /\badd\b.*\b(?:check\s*\(|references\b|foreign\s+key\b)/.test(part) &&
        !/\bnot\s+valid\b/.test(part),
    ),
  'adds a key under a lock: build its index concurrently, and add it using index': (
    statement,
    created,
  ) =>
    altersExisting(statement, created) &&
    partsOf(statement).some(
      (part) =>
        /\badd\b.*\b(?:primary\s+key|unique|exclude)\b/.test(part) &&
        !/\busing\s+index\b/.test(part),
    ),
  'asks for a value that the release before does not write': (statement, created) =>
    altersExisting(statement, created) &&
    partsOf(statement).some(
      (part) =>
        /\bset\s+not\s+null\b/.test(part) ||
        (/\badd\b.*\bnot\s+null\b/.test(withoutParentheses(part)) &&
          !/\bdefault\b|\bgenerated\b/.test(part)),
    ),
  'opens a table to more rows, which the release before refuses': (statement, created) => {
    const [, table = '', kind] = policyForm.exec(statement) ?? [];
    return table !== '' && !created.has(table) && kind !== 'restrictive';
  },
  'changes a policy, which the release before refuses': (statement) =>
    /^alter\s+policy\b(?!.*\brename\b)/.test(statement),
  'makes a function with the rights of the owner, which the release before refuses': (statement) =>
    /^(?:create|alter)\b.*\bfunction\b.*\bsecurity\s+definer\b/.test(statement),
  'builds an index under a lock: build it concurrently': (statement, created) => {
    const [, isConcurrent, isOnly, table = ''] = indexForm.exec(statement) ?? [];
    if (table === '' || created.has(table)) return false;
    return isConcurrent === undefined && isOnly === undefined;
  },
};

const indexForm = new RegExp(
  String.raw`^create\s+(?:unique\s+)?index\s+(concurrently\s+)?(?:if\s+not\s+exists\s+)?` +
    String.raw`(?:\w+\s+)?on\s+(only\s+)?(\w+)`,
);

const policyForm = /^create\s+policy\s+\w+\s+on\s+(\w+)(?:\s+as\s+(\w+))?/;

/** Statements that may run again after a kill. */
const repeatable: readonly RegExp[] = [
  /^create\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?\w+\s+on\b/,
  /^create\s+(?:unique\s+)?index\s+if\s+not\s+exists\b/,
  /^drop\s+index\s+concurrently\s+if\s+exists\b/,
  /^alter\s+index\s+\w+\s+attach\s+partition\b/,
  /^alter\s+table\s+(?:only\s+)?\w+\s+validate\s+constraint\b/,
];

/** Finds what a migration does that breaks or blocks the release before. */
export function expandProblems(migration: MigrationPlan): readonly string[] {
  const { name, isTransactional, safeSince } = migration;
  const all = migration.statements.map(splitSql);
  const created = new Set(
    all
      .flat()
      .flatMap((each) => /^create\s+table\s+(?:if\s+not\s+exists\s+)?(\w+)/.exec(each)?.[1] ?? []),
  );
  const breaking =
    safeSince !== undefined
      ? []
      : all.flat().flatMap((statement) =>
          Object.entries(refused)
            .filter(([, applies]) => applies(statement, created))
            .map(([what]) => `${name} ${what}: ${statement.slice(0, 60)}`),
        );
  if (isTransactional) {
    const outside = all.flat().filter((each) => /\bindex\s+concurrently\b/.test(each));
    return [...breaking, ...outside.map(() => `${name} builds concurrently in a transaction`)];
  }
  const several = all.filter(({ length }) => length !== 1);
  const once = all.flat().filter((statement) => repeatable.every((form) => !form.test(statement)));
  return [
    ...breaking,
    ...several.map(() => `${name} adds several statements as one: add each by itself`),
    ...once.map((statement) => `${name} cannot run again after a kill: ${statement.slice(0, 60)}`),
  ];
}

function altersExisting(statement: string, created: ReadonlySet<string>): boolean {
  const table = /^alter\s+table\s+(?:if\s+exists\s+)?(?:only\s+)?(\w+)/.exec(statement)?.[1];
  return table !== undefined && !created.has(table);
}

/** Leaves out expressions, such as that of a check. */
function withoutParentheses(text: string): string {
  const inner = text.replace(/\([^()]*\)/g, '');
  return inner === text ? text : withoutParentheses(inner);
}

/** Splits the actions of `alter table` at the commas outside of parentheses. */
function partsOf(statement: string): readonly string[] {
  let depth = 0;
  let part = '';
  const parts: string[] = [];
  for (const char of statement) {
    if (char === '(') depth += 1;
    if (char === ')') depth -= 1;
    if (char === ',' && depth === 0) {
      parts.push(part);
      part = '';
    } else part += char;
  }
  return [...parts, part];
}

/**
 * Splits SQL into its statements, in small letters, without comments, schema names and the bodies
 * of functions and `do` blocks, which reviewers read.
 */
function splitSql(text: string): readonly string[] {
  return text
    .replace(/--[^\n]*/g, '')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\$(\w*)\$[\s\S]*?\$\1\$/g, "''")
    .replace(/'(?:[^']|'')*'/g, "''")
    .toLowerCase()
    .replace(/\bpublic\./g, '')
    .replace(/"/g, '')
    .replace(/\s+/g, ' ')
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}
