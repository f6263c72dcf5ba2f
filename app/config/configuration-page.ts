import { z } from 'zod';
import { toJsonSchema } from './definition/setting.ts';
import { settingGroups } from './environment.ts';
import { otherVariables } from './other-variables.ts';

const heading = `# Configuration

Made from the schemas of the settings by \`npm run openapi\`; a test fails when this page is out of
date.

The app and the signer are configured by environment variables, which they read once, when they
start. A configuration with problems is refused; the message lists every problem and repeats no
value. The app treats an empty variable as not set.

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
  return `${heading}${sections.join('\n')}`;
}

function renderSection({ title, description, properties, required }: Section): string {
  const rows = Object.entries(properties).map(([name, variable]) =>
    row([
      `\`${name}\``,
      allowedValues(variable),
      defaultValue(variable, required.includes(name)),
      variable.description,
    ]),
  );
  const introduction = description === undefined ? '' : `${description}\n\n`;
  const head = '| Variable | Values | Default | Description |\n| --- | --- | --- | --- |\n';
  return `## ${title}\n\n${introduction}${head}${rows.join('\n')}\n`;
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
