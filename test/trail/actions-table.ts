import { readFileSync } from 'node:fs';

/** What docs/audit-actions.md says of an action. */
export interface DocumentedAction {
  readonly action: string;
  readonly resource: string;
  /** Fields of `data`, and those of them that may be missing. */
  readonly fields: readonly string[];
  readonly optional: readonly string[];
}

export interface DocumentedCause {
  /** `POST /v1/uploads`, or the name of a worker. */
  readonly name: string;
  /** The text of the cell, and the actions that it names. */
  readonly text: string;
  readonly actions: readonly string[];
}

const page = readFileSync(new URL('../../docs/audit-actions.md', import.meta.url), 'utf8');

export const documentedActions: readonly DocumentedAction[] = readTable('Actions').map(
  ([action = '', resource = '', , data = '']) => ({
    action: namesIn(action)[0] ?? '',
    resource: namesIn(resource)[0] ?? '',
    fields: namesIn(data.replace(/: [^,]*$/, '')),
    optional: [...data.matchAll(/\(`([^`]+)`\)/g)].map(([, name = '']) => name),
  }),
);

export const documentedRoutes: readonly DocumentedCause[] = readTable('Routes').map(
  ([method = '', path = '', text = '']) => causeOf(`${method} ${namesIn(path)[0]}`, text),
);

export const documentedWorkers: readonly DocumentedCause[] = readTable('Workers and commands').map(
  ([name = '', text = '']) => causeOf(name, text),
);

function causeOf(name: string, text: string): DocumentedCause {
  return { name, text, actions: namesIn(text) };
}

/** The cells of the rows under a heading, without the table's head. */
function readTable(heading: string): string[][] {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const [text = ''] = section.split('\n## ');
  const rows = text.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** What stands in backticks. */
function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}
