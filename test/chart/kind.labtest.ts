import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { projectFile } from '../../app/dev/files/project.ts';
import { tool } from './helm.ts';

const run = promisify(execFile);
const configuration = await readFile(projectFile('k8s/e2e/kind.yaml'), 'utf8');

/** A Docker that has no image, no cluster and no network, and writes down what it was asked. */
const docker = `#!/bin/sh
echo "$*" >>"$0.calls"
case $1 in
  info) echo '{}' ;;
  ps) ;;
  *) echo 'no network' >&2; exit 1 ;;
esac
`;

/** Resolves with what `kind create cluster` prints, and what it asked Docker for. */
async function create(t: ExecutionContext, text: string) {
  const directory = await mkdtemp(join(tmpdir(), 'probatio-kind-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const program = join(directory, 'docker');
  const file = join(directory, 'kind.yaml');
  await writeFile(program, docker, { mode: 0o755 });
  await writeFile(file, text);
  const error = await t.throwsAsync(
    run(tool('kind'), ['create', 'cluster', `--config=${file}`], {
      env: {
        PATH: `${directory}:${process.env['PATH']}`,
        HOME: directory,
        KIND_EXPERIMENTAL_PROVIDER: 'docker',
      },
    }),
  );
  const calls = await readFile(`${program}.calls`, 'utf8').catch(() => '');
  return { printed: (error as { stderr?: string } | undefined)?.stderr ?? '', calls };
}

test('kind takes the configuration, and next needs the image of its node', async (t) => {
  t.timeout(60_000);
  const { printed, calls } = await create(t, configuration);
  t.regex(printed, /failed to pull image "kindest\/node:v1\.\d+/);
  t.regex(calls, /^pull kindest\/node:v1\.\d+/m);
});

test('kind refuses a wrong configuration before it asks for an image', async (t) => {
  for (const [from, to, reason] of [
    ['hostPath:', 'hostPaths:', /unknown field|not found/],
    ['role: control-plane', 'role: master', /master/],
    ['apiServerPort: 6443', 'apiServerPort: 70000', /port/i],
    ['v1alpha4', 'v1alpha5', /v1alpha5/],
  ] as const) {
    t.true(configuration.includes(from));
    const { printed, calls } = await create(t, configuration.replace(from, to));
    t.regex(printed, reason, from);
    t.notRegex(calls, /^pull /m);
  }
});

test('shellcheck finds nothing in the script', async (t) => {
  const script = projectFile('k8s/e2e/run');
  await t.notThrowsAsync(run(tool('python/bin/shellcheck'), ['--severity=style', script]));
});

test('the script sets every variable that the tests on a cluster ask for', async (t) => {
  const { stdout } = await run('grep', ['-rhoE', String.raw`variable\('\w+'\)`, 'test'], {
    cwd: projectFile('.'),
  });
  const names = new Set(
    [...stdout.matchAll(/variable\('((?:CLUSTER_|KUBECONFIG)\w*)'\)/g)].map(([, name]) => name),
  );
  t.true(names.size >= 3);
  const script = await readFile(projectFile('k8s/e2e/run'), 'utf8');
  for (const name of names) t.regex(script, new RegExp(`^export .*\\b${name}=`, 'm'));
});
