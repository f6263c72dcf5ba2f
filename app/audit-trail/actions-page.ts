import type { z } from 'zod';
import { eventKinds, type AuditAction } from './event.ts';
import type { EventKind } from './kinds/kind.ts';
import { workersAndCommands } from './workers.ts';

/** The properties of a route that the page shows. */
interface DocumentedRoute {
  readonly method: string;
  readonly path: string;
  readonly audit?: { readonly actions: readonly AuditAction[]; readonly note?: string };
}

const introduction = `# Audit actions

Generated from the code by \`npm run openapi\`; a test compares it with the entries that the API
appends.

Every change of state appends an entry in the transaction of the change, with the next \`seq\` of
the resource. The numbers have no gaps.

## Actions

The resource is the entry's \`resource.type\`. Its \`resource.id\` is the id of that resource: the
user's id for \`account\` and \`sharing_key\`, the run's id for \`purge\` and \`maintenance\`. The
owner is the user to whom the resource belongs; a resource of no user is owned by the nil UUID in
the tenant \`system\`. Members of \`data\` in parentheses are not always present. No entry holds an
e-mail address, a secret, plaintext or a file name: e-mail addresses and client addresses are
recorded as hashes under a key of the HSM.

| Action | Resource | Actor | \`data\` |
| --- | --- | --- | --- |
`;

const afterActions = `
\`auth.login_failed\`, \`mfa.failed\`, \`audit.read\` and \`internal_key.used\` are counted. The
failed logins to one account from one network within a minute become one entry, and so do the reads
of one caller and the uses of one internal API key on one route. If there are too many different
counts, further events are counted together without an owner, under the resource \`overflow\`.

A download becomes an entry of its document within seconds after it has ended; downloads by ranges
of one version by one reader are summed up once the reader has asked for none for 30 s, or ten
minutes after the first. While the audit backlog is full, or a tenth of its limit are entries of
downloads and counts, downloads go on and their entries follow later.

## Routes

An alias of a route appends the same entries as the route. GET requests change nothing; of these,
only downloads and reads of proofs are recorded. Every request with an internal API key is counted
as \`internal_key.used\`.

| Method | Path | Actions |
| --- | --- | --- |
`;

const beforeWorkers = `
## Workers and commands

| Worker or command | Actions |
| --- | --- |
`;

/** Returns docs/audit-actions.md: every action, and the routes and workers that append it. */
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
  const members = Object.entries<z.ZodType>(data.shape).map(([name, schema]) =>
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
