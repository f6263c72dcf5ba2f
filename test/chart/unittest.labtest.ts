import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { projectFile } from '../../app/dev/files/project.ts';
import { helms, tool } from './helm.ts';

const run = promisify(execFile);
const chart = projectFile('charts/probatio');

/** Resolves with what helm-unittest prints of the chart in a directory, which it writes to. */
async function unittest(directory: string): Promise<{ code: number; stdout: string }> {
  return run(tool('helm-unittest'), [directory]).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: unknown) => error as { code: number; stdout: string },
  );
}

async function temporaryDirectory(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'probatio-unittest-'));
  t.teardown(() => rm(directory, { recursive: true }));
  return directory;
}

async function copyChart(t: ExecutionContext): Promise<string> {
  const directory = join(await temporaryDirectory(t), 'probatio');
  await cp(chart, directory, { recursive: true });
  return directory;
}

test('the templates decide as the suites of helm-unittest say', async (t) => {
  const { code, stdout } = await unittest(await copyChart(t));
  t.is(code, 0, stdout);
  t.log(stdout.split('\n').filter((line) => line.startsWith('Test')));
});

test('a template that decides otherwise fails in a suite', async (t) => {
  const directory = await copyChart(t);
  for (const [name, from, to] of [
    ['app/deployment.yaml', 'if not .Values.autoscaling', 'if .Values.autoscaling'],
    ['crds/signingkeys.yaml', '.Values.crds.enabled', '.Values.operator.enabled'],
    ['monitoring/dashboards.yaml', 'if .enabled', 'if not .enabled'],
    ['network/services.yaml', 'type: ClusterIP', 'type: {{ .Values.service.type }}'],
    ['operation/migrate.yaml', '.Values.migrate.mode "hook"', '.Values.migrate.mode "job"'],
    ['operator/networkpolicy.yaml', 'and .Values', 'or .Values'],
    ['softhsm/keygen.yaml', 'list "audit" "token"', 'list "audit"'],
    ['tests/installation.yaml', 'default .Values.http', 'default .Values.http .Values.http'],
    ['validate.yaml', '(gt (int .Values.replicaCount) 1)', 'false'],
  ] as const) {
    const file = join(directory, 'templates', name);
    const text = await readFile(file, 'utf8');
    t.true(text.includes(from), name);
    await writeFile(file, text.replace(from, to));
    const { code, stdout } = await unittest(directory);
    t.is(code, 1, `${name}\n${stdout}`);
    await writeFile(file, text);
  }
});

test('a suite covers every folder of templates', async (t) => {
  const suites = (await readdir(join(chart, 'tests'))).filter((name) => name.endsWith('.yaml'));
  const texts = await Promise.all(
    suites.map((name) => readFile(join(chart, 'tests', name), 'utf8')),
  );
  const entries = await readdir(join(chart, 'templates'), { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  t.true(folders.length >= 7);
  for (const folder of folders)
    for (const file of await readdir(join(chart, 'templates', folder)))
      if (file.endsWith('.yaml'))
        t.true(
          texts.some((text) => text.includes(`${folder}/${basename(file)}`)),
          file,
        );
});

test('a package has every template, and neither suites nor values of tests', async (t) => {
  const templates = (
    await readdir(join(chart, 'templates'), { recursive: true, withFileTypes: true })
  )
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).replace(`${chart}/`, 'probatio/'));
  for (const helm of Object.values(helms)) {
    const directory = await temporaryDirectory(t);
    await run(helm, ['package', chart, `--destination=${directory}`]);
    const [archive = ''] = await readdir(directory);
    const { stdout } = await run('tar', ['--list', '--file', join(directory, archive)]);
    const packed = stdout.trim().split('\n');
    t.deepEqual(
      packed.filter((name) => name.startsWith('probatio/templates/')).toSorted(),
      templates.toSorted(),
    );
    t.true(packed.includes('probatio/files/tests/installation.mjs'));
    t.deepEqual(
      packed.filter((name) => /^probatio\/(ci|tests)\//.test(name)),
      [],
    );
  }
});
