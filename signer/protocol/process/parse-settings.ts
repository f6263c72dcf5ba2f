import { z } from 'zod';
import { fileVariable, type Environment } from './environment.ts';

/** The part of a setting's JSON Schema that says which values it takes. */
const Allowed = z.object({
  enum: z.array(z.string()).optional(),
  type: z.string().optional(),
  minimum: z.number().optional(),
  exclusiveMinimum: z.number().optional(),
  maximum: z.number().optional(),
  unit: z.string().optional(),
  form: z.string().optional(),
  rereads: z.string().optional(),
});

interface Parsed {
  /** The values by variable, with defaults; undefined for those with a problem. */
  readonly values: Readonly<Record<string, unknown>>;
  /** The problems, each as `VARIABLE: what is wrong; what to do`. */
  readonly problems: readonly string[];
}

/**
 * Parses settings by the schemas of their variables. A problem that a schema does not describe
 * itself says which values are allowed.
 */
export function parseSettings(
  schemas: Readonly<Record<string, z.ZodType>>,
  environment: Pick<Environment, 'variables' | 'files' | 'refused'>,
): Parsed {
  const { variables, files, refused } = environment;
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [variable, schema] of Object.entries(schemas)) {
    if (refused.has(variable)) continue;
    const text = variables[variable];
    const error = () => `is not valid; set it to: ${describeAllowed(schema)}`;
    const { data, error: failure } = z.safeParse(schema, text, { error });
    values[variable] = data;
    if (failure === undefined) continue;
    if (text === undefined) problems.push(`${variable}: ${describeMissing(variable, schema)}`);
    else {
      const subject =
        files[variable] === undefined
          ? `${variable}:`
          : `${fileVariable(variable)}: the value in the file`;
      const messages = new Set(failure.issues.map(({ message }) => message));
      problems.push(...[...messages].map((message) => `${subject} ${message}`));
    }
  }
  return { values, problems };
}

/** Says that a setting is missing, and how to set it. */
export function describeMissing(variable: string, schema: z.ZodType): string {
  const { rereads } = readMeta(schema);
  const file = rereads === undefined ? '' : `; or name a file of it in ${fileVariable(variable)}`;
  return `is not set; set it to: ${describeAllowed(schema)}${file}`;
}

/** Describes the values that a setting takes, such as `1 to 64 sessions`. */
function describeAllowed(schema: z.ZodType): string {
  const { enum: names, type, minimum, exclusiveMinimum = -1, maximum, ...texts } = readMeta(schema);
  const { form, unit } = texts;
  if (form !== undefined) return form.replaceAll('`', '');
  if (names !== undefined) return names.join(', ');
  if (type !== 'integer') return 'a text that is not empty';
  const least = minimum ?? exclusiveMinimum + 1;
  const isUnbounded = maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER;
  const range = isUnbounded ? `${least} or more` : `${least} to ${maximum}`;
  return unit === undefined ? `an integer, ${range}` : `${range} ${unit}`;
}

function readMeta(schema: z.ZodType): z.output<typeof Allowed> {
  return Allowed.parse(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
}
