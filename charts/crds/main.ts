/** Writes the definitions of the operator's custom resources into the chart's templates. */
import { mkdir, writeFile } from 'node:fs/promises';
import { crdTemplates } from './render.ts';

const directory = new URL('../probatio/templates/crds/', import.meta.url);

await mkdir(directory, { recursive: true });
for (const [name, text] of crdTemplates()) await writeFile(new URL(name, directory), text);
