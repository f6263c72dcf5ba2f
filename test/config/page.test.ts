import { readFile } from 'node:fs/promises';
import test from 'ava';
import { describeConfiguration } from '../../app/config/configuration-page.ts';
import { toJsonSchema } from '../../app/config/definition/setting.ts';
import { settingGroups } from '../../app/config/environment.ts';
import { loadSignerConfig } from '../../signer/config/config.ts';
import { describeVariables } from '../../signer/config/variables.ts';
import { projectFile } from '../../app/dev/files/project.ts';

test('docs/configuration.md matches the settings: npm run openapi updates it', async (t) => {
  const committed = await readFile(projectFile('docs/configuration.md'), 'utf8');
  t.is(describeConfiguration([describeVariables()]), committed);
});

test('every variable has one home: no two settings of the app share one', (t) => {
  const variables = Object.values(settingGroups).flatMap(({ settings }) =>
    Object.values(settings).map(({ variable }) => variable),
  );
  t.deepEqual(variables, [...new Set(variables)]);
});

test('a setting of the app that has a default shows it on the page', (t) => {
  for (const group of Object.values(settingGroups)) {
    const { properties = {} } = toJsonSchema(group);
    for (const { variable, schema } of Object.values(group.settings)) {
      const { data } = schema.safeParse(undefined);
      const property = properties[variable];
      const { default: shown, whenUnset } = typeof property === 'object' ? property : {};
      t.true(data === undefined || (shown ?? whenUnset) !== undefined, variable);
    }
  }
});

test('a default on the page is the value of a variable that is not set', (t) => {
  for (const group of Object.values(settingGroups)) {
    const { properties = {} } = toJsonSchema(group);
    for (const { variable, schema } of Object.values(group.settings)) {
      const property = properties[variable];
      const shown = typeof property === 'object' ? property.default : undefined;
      if (typeof shown !== 'string' && typeof shown !== 'number') continue;
      t.deepEqual(schema.safeParse(String(shown)), schema.safeParse(undefined), variable);
    }
  }
});

const text = { type: 'string', description: 'Names a file | or two.' };

test('a JSON Schema becomes a section with ranges, lists, forms and defaults', (t) => {
  const page = describeConfiguration([
    {
      title: 'Another program',
      description: 'It has variables.',
      properties: {
        TEXT: text,
        FORM: { ...text, form: 'path', whenUnset: 'no file' },
        LIST: { ...text, enum: ['a', 'b'], default: 'a' },
        RANGE: { ...text, type: 'integer', minimum: 2, maximum: 6, multipleOf: 2 },
        OPEN: { ...text, type: 'integer', exclusiveMinimum: 0, unit: 'bytes', default: 5 },
        SECRET: { ...text, rereads: 'anew' },
      },
      required: ['TEXT'],
    },
  ]);
  t.true(
    page.includes(`
## Another program

It has variables.

| Variable | Values | Default | Description |
| --- | --- | --- | --- |
| \`TEXT\` | text | **required** | Names a file \\| or two. |
| \`FORM\` | path | no file | Names a file \\| or two. |
| \`LIST\` | \`a\`, \`b\` | \`a\` | Names a file \\| or two. |
| \`RANGE\` | integer: 2 to 6, a multiple of 2 | not set | Names a file \\| or two. |
| \`OPEN\` | bytes: 1 or more | \`5\` | Names a file \\| or two. |
| \`SECRET\`, \`SECRET_FILE\` | text | not set | Names a file \\| or two. A file is read anew. |

## Exit codes
`),
  );
});

test('a variable without a description is refused', (t) => {
  const schema = { title: 'Another program', properties: { TEXT: { type: 'string' } } };
  t.throws(() => describeConfiguration([schema]), { message: /description/ });
});

test('the signer reads the variables that its JSON Schema requires', (t) => {
  const { required } = describeVariables() as { required: readonly string[] };
  const error = t.throws(() => loadSignerConfig({}));
  const [, ...lines] = (error?.message ?? '').split('\n');
  const missing = lines.map((line) => line.trim().replace(/:.*/, ''));
  t.deepEqual([...missing].sort(), [...required].sort());
});
