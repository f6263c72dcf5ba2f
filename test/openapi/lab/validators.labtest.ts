import { join } from 'node:path';
import test from 'ava';
import { documentFile, nodeTool, pythonTool, run, toolsFolder } from './tools.ts';

test('openapi-spec-validator accepts openapi.json', async (t) => {
  const { code, output } = await run(pythonTool('openapi-spec-validator'), [documentFile]);
  t.is(code, 0, output);
});

test('redocly finds no error and no warning', async (t) => {
  const config = join(toolsFolder, 'redocly.yaml');
  const args = ['lint', '--config', config, '--format=json', documentFile];
  const { code, standardOutput } = await run(nodeTool('redocly'), args);
  t.is(code, 0, standardOutput);
  const { totals } = JSON.parse(standardOutput) as { readonly totals: object };
  t.like(totals, { errors: 0, warnings: 0 }, standardOutput.slice(0, 4_000));
});

test('spectral finds no error, no warning and no hint', async (t) => {
  const ruleset = join(toolsFolder, 'spectral.yaml');
  const args = [
    'lint',
    '--ruleset',
    ruleset,
    '--fail-severity=hint',
    '--format=json',
    documentFile,
  ];
  const { code, output } = await run(nodeTool('spectral'), args);
  t.is(code, 0, output.slice(0, 4_000));
});
