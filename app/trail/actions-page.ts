import { eventKinds, type AuditAction } from './event.ts';
import type { EventKind } from './kinds/kind.ts';
import { workersAndCommands } from './workers.ts';

/** A route, as far as the page shows it. */
interface DocumentedRoute {
  readonly method: string;
  readonly path: string;
  readonly audit?: { readonly actions: readonly AuditAction[]; readonly note?: string };
}

const introduction = `# Audit actions

Made from the code by \`npm run openapi\`; a test compares it with the entries that the API leaves.

Every change of state leaves an entry in the transaction that makes it, with the next gapless \`seq\` of
its resource.

## Actions

The resource is the entry's \`resource.type\`. Its \`resource.id\` is the id of that thing: the user's id for
\`account\` and \`sharing_key\`, the run's id for \`purge\` and \`maintenance\`. The owner is the user whose
resource it is; resources of no user belong to the nil UUID in the tenant \`system\`. Members of \`data\` in
parentheses are not always present. No entry holds an e-mail address, a secret, plaintext or a file name:
e-mail and client addresses enter as hashes under a key of the HSM.

| Action | Resource | Actor | \`data\` |
| --- | --- | --- | --- |
`;

const afterActions = `
\`auth.login_failed\` and \`audit.read\` are counted and become one entry a minute: by account and network,
and by caller. Beyond a limit of different ones they are counted under nobody's name, with the resource
\`overflow\`.

## Routes

Aliases leave the same entries. GET changes nothing; the reads of proofs alone are recorded.

| Method | Path | Actions |
| --- | --- | --- |
`;

const beforeWorkers = `
## Workers and commands

| Worker or command | Actions |
| --- | --- |
`;

/** Returns docs/audit-actions.md: every action, and the routes and workers that leave it. */
export function describeActions(routes: readonly DocumentedRoute[]): string {
  const actions = Object.entries<EventKind>(eventKinds).map(([action, kind]) =>
    row([`\`${action}\``, `\`${kind.resource}\``, kind.actor, dataOf(kind)]),
  );
  const causes = routes.flatMap(({ method, path, audit }) =>
    audit === undefined ? [] : [row([method.toUpperCase(), `\`${path}\``, entriesOf(audit)])],
  );
  const workers = workersAndCommands.map((cause) => row([cause.name, entriesOf(cause)]));
  return [introduction, ...actions, afterActions, ...causes, beforeWorkers, ...workers].join('');
}

function dataOf({ data, note }: EventKind): string {
  const members = Object.entries(data.shape).map(([name, schema]) =>
    schema.safeParse(undefined).success ? `(\`${name}\`)` : `\`${name}\``,
  );
  const list = members.length === 0 ? 'nothing' : members.join(', ');
  return note === undefined ? list : `${list}; ${note}`;
}

function entriesOf({ actions, note }: NonNullable<DocumentedRoute['audit']>): string {
  if (actions.length === 0) return `none: ${note ?? ''}`;
  const list = actions.map((action) => `\`${action}\``).join(', ');
  return note === undefined ? list : `${list}; ${note}`;
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |\n`;
}
