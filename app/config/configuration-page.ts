import { z } from 'zod';
import { fileVariable } from '../../signer/protocol/process/environment.ts';
import { exitTable, programs } from '../../signer/protocol/process/exit-codes.ts';
import { toJsonSchema } from './definition/setting.ts';
import { settingGroups } from './environment.ts';
import { otherVariables } from './other-variables.ts';

const heading = `# Configuration

Made from the schemas of the settings by \`npm run openapi\`; a test fails when this page is out of
date.

The app and the signer are configured by environment variables, which they read once, when they
start. A configuration with problems is refused with [exit code](#exit-codes) 78; the message lists
every problem and repeats no value.

An empty variable counts as not set. So do variables of others: \`HTTP_PROXY\` and the like, and
what Kubernetes makes of each Service, such as \`REDIS_PORT=tcp://…\`, \`REDIS_SERVICE_HOST\` and
\`REDIS_PORT_6379_TCP\`. An unknown variable that differs from a setting by one or two letters is
refused; other unknown ones that begin like a setting are logged.

A secret can be given in a file, so that it stands in no environment: \`DATABASE_URL_FILE\` names
the file of \`DATABASE_URL\`. Set only one of the two. It must be a regular file of one line; line
breaks at its end are dropped. A file that every user of the machine may write is refused.

At its start, each process logs one line with the settings that are weaker than recommended, if
there are any, such as a file of a secret that every user may read.

`;

const exitIntroduction = `Node itself ends a process with other codes, such as 134 when memory runs
out, and a signal that a process does not handle, such as SIGKILL, ends it with 128 and the number
of the signal. With 1 and 78, the app and the signer also write the reason to the file of
\`TERMINATION_LOG\`, cut at 4 KiB, so that \`kubectl describe pod\` shows it.

`;

/** A variable, as JSON Schema describes it, with the additions of `Description`. */
const Variable = z.object({
  description: z.string(),
  type: z.string().optional(),
  enum: z.array(z.string()).optional(),
  minimum: z.number().optional(),
  exclusiveMinimum: z.number().optional(),
  maximum: z.number().optional(),
  multipleOf: z.number().optional(),
  default: z.union([z.string(), z.number(), z.boolean()]).optional(),
  unit: z.string().optional(),
  form: z.string().optional(),
  whenUnset: z.string().optional(),
  rereads: z.string().optional(),
});
type Variable = z.output<typeof Variable>;

/** The JSON Schema of a group of variables, which is a section of the page. */
const Section = z.object({
  title: z.string(),
  description: z.string().optional(),
  properties: z.record(z.string(), Variable),
  required: z.array(z.string()).default([]),
});
type Section = z.output<typeof Section>;

/**
 * Returns docs/configuration.md: the variables of the app, followed by a section for each JSON
 * Schema of another program. Throws ZodError for a schema without a title or descriptions.
 */
export function describeConfiguration(otherSchemas: readonly unknown[]): string {
  const groups = [...Object.values(settingGroups), ...otherVariables];
  const sections = [...groups.map(toJsonSchema), ...otherSchemas].map((schema) =>
    renderSection(Section.parse(schema)),
  );
  return `${heading}${[...sections, renderExitCodes()].join('\n')}`;
}

function renderSection({ title, description, properties, required }: Section): string {
  const rows = Object.entries(properties).map(([name, variable]) =>
    row([
      variable.rereads === undefined ? code(name) : `${code(name)}, ${code(fileVariable(name))}`,
      allowedValues(variable),
      defaultValue(variable, required.includes(name)),
      variable.rereads === undefined
        ? variable.description
        : `${variable.description} A file is read ${variable.rereads}.`,
    ]),
  );
  const introduction = description === undefined ? '' : `${description}\n\n`;
  const head = '| Variable | Values | Default | Description |\n| --- | --- | --- | --- |\n';
  return `## ${title}\n\n${introduction}${head}${rows.join('\n')}\n`;
}

/** Returns the section on the codes with which processes end. */
function renderExitCodes(): string {
  const names = Object.entries(programs);
  const head = row(['Code', ...names.map(([, name]) => code(name))]);
  const rule = row(['---', ...names.map(() => '---')]);
  const rows = Object.values(exitTable).map(({ code: number, meanings }) =>
    row([String(number), ...names.map(([name]) => meanings[name as keyof typeof programs] ?? '')]),
  );
  return `## Exit codes\n\n${exitIntroduction}${[head, rule, ...rows].join('\n')}\n`;
}

/** Returns the allowed values: a list, a range with its unit, or the form of a text. */
function allowedValues(variable: Variable): string {
  if (variable.form !== undefined) return variable.form;
  if (variable.enum !== undefined) return variable.enum.map(code).join(', ');
  if (variable.type !== 'integer') return 'text';
  const { minimum, exclusiveMinimum = -1, maximum, multipleOf, unit = 'integer' } = variable;
  const least = minimum ?? exclusiveMinimum + 1;
  const isUnbounded = maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER;
  const range = isUnbounded ? `${least} or more` : `${least} to ${maximum}`;
  return `${unit}: ${range}${multipleOf === undefined ? '' : `, a multiple of ${multipleOf}`}`;
}

function defaultValue(variable: Variable, isRequired: boolean): string {
  if (variable.whenUnset !== undefined) return variable.whenUnset;
  if (isRequired) return '**required**';
  return variable.default === undefined ? 'not set' : code(String(variable.default));
}

function code(text: string): string {
  return `\`${text}\``;
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
