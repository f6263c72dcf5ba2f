/** Writes the files of the chart that are made from others: its README and values.schema.json. */
import { readFile, writeFile } from 'node:fs/promises';
import { chartReadme } from './readme.ts';
import { valuesSchema } from './values-schema.ts';

const file = (name: string) => new URL(`../probatio/${name}`, import.meta.url);

const introduction = await readFile(new URL('introduction.md', import.meta.url), 'utf8');
const values = await readFile(file('values.yaml'), 'utf8');
await writeFile(file('README.md'), chartReadme(introduction, values));
await writeFile(file('values.schema.json'), valuesSchema());
