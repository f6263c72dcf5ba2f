import { readFile } from 'node:fs/promises';
import test from 'ava';
import { parse } from 'yaml';
import { chartReadme } from '../../charts/generate/readme.ts';
import { valuesSchema, Values } from '../../charts/generate/values-schema.ts';
import { projectFile } from '../../app/dev/files/project.ts';
import { TaskName } from '../../app/maintenance/schema.ts';

const read = (name: string) => readFile(projectFile(`charts/${name}`), 'utf8');

test('README and schema of the chart are up to date', async (t) => {
  const values = await read('probatio/values.yaml');
  const introduction = await read('generate/introduction.md');
  t.is(await read('probatio/README.md'), chartReadme(introduction, values));
  t.is(await read('probatio/values.schema.json'), valuesSchema());
});

test('values.yaml has every value that the schema knows, and no other', async (t) => {
  const values = Values.parse(parse(await read('probatio/values.yaml')));
  t.deepEqual(Object.keys(values).toSorted(), Object.keys(Values.shape).toSorted());
});

test('each maintenance task has a schedule', async (t) => {
  const values = Values.parse(parse(await read('probatio/values.yaml')));
  t.deepEqual(Object.keys(values.maintenance?.tasks ?? {}).toSorted(), TaskName.options.toSorted());
});

test('each value is described in the README, or by its name and its neighbours', async (t) => {
  const readme = await read('probatio/README.md');
  for (const name of Object.keys(Values.shape))
    t.regex(readme, new RegExp(`^\\| \`${name}\\b`, 'm'));
});
