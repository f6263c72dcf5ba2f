import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { projectFile } from '../../app/dev/files/project.ts';
import { startApiServer, type ApiServer } from '../operator/lab/api-server.ts';
import { template, tool, type Rendering } from './helm.ts';

const programs = String(process.env['OPERATOR_LAB_BIN']);
const namespace = 'evidence';
const valueFiles = await readdir(projectFile('charts/probatio/ci'));
/** The kinds of others that the chart makes. */
const foreign = [
  'certificates.cert-manager.io',
  'externalsecrets.external-secrets.io',
  'httproutes.gateway.networking.k8s.io',
  'prometheusrules.monitoring.coreos.com',
  'servicemonitors.monitoring.coreos.com',
];

let server: ApiServer;
let directory: string;

test.before(async (t) => {
  t.timeout(300_000);
  directory = await mkdtemp(join(tmpdir(), 'probatio-dry-run-'));
  server = await startApiServer();
  await writeFile(join(directory, 'kubeconfig'), server.admin.exportConfig());
  // The chart makes them too.
  await kubectl(['delete', 'crd', 'signingkeys.probatio.dev', 'vaultmaintenances.probatio.dev']);
  await kubectl(['create', `--filename=${tool('definitions')}`]);
  const names = foreign.map((name) => `crd/${name}`);
  await kubectl(['wait', '--for=condition=Established', '--timeout=60s', ...names]);
  await createNamespace(namespace);
});
test.after.always(async () => {
  await server?.stop();
  await rm(directory, { recursive: true, force: true });
});

/** Runs kubectl as an administrator; resolves with what it prints, and throws if it fails. */
async function kubectl(args: readonly string[], input = ''): Promise<string> {
  const child = spawn(join(programs, 'kubectl'), args, { env: environment() });
  child.stdin.end(input);
  const [out, error, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  if (code !== 0) throw new Error(error);
  return out + error;
}

const environment = () => ({
  ...process.env,
  PATH: [programs, process.env['PATH']].join(delimiter),
  KUBECONFIG: join(directory, 'kubeconfig'),
  HOME: directory,
});

/** Makes a namespace that refuses pods which do not pass `restricted`, and warns of them. */
async function createNamespace(name: string): Promise<void> {
  const labels = ['enforce', 'warn'].map((mode) => `pod-security.kubernetes.io/${mode}`);
  await kubectl(['create', 'namespace', name]);
  await kubectl(['label', 'namespace', name, ...labels.map((label) => `${label}=restricted`)]);
}

/** Lets the API server create every object, without keeping it; resolves with what it prints. */
const create = (objects: string, where = namespace) =>
  kubectl(
    [
      'create',
      `--namespace=${where}`,
      '--dry-run=server',
      '--validate=strict',
      '--output=name',
      '--filename=-',
    ],
    objects,
  );

const renderings: Readonly<Record<string, Rendering>> = {
  ...Object.fromEntries(valueFiles.map((values) => [values, { values }])),
  'files in a claim': {
    set: [
      'storage.driver="filesystem"',
      'storage.filesystem.existingClaim="objects"',
      'podDisruptionBudget.maxUnavailable="50%"',
      'service.type="NodePort"',
    ],
  },
  'one instance of everything in a hook': {
    values: 'everything-values.yaml',
    set: ['migrate.mode="hook"', 'networkPolicy.metricsFrom=[]', 'networkPolicy.egress=[]'],
  },
  'skaffold.yaml': {
    release: 'vault',
    files: ['values.yaml', 'replicas.yaml'].map((name) =>
      projectFile(`charts/development/${name}`),
    ),
  },
};

for (const [name, rendering] of Object.entries(renderings)) {
  test(`the API server takes every object of ${name}, without a warning`, async (t) => {
    t.timeout(120_000);
    const objects = await template({ ...rendering, kubeVersion: '1.36.0' });
    const printed = (await create(objects)).trim().split('\n');
    t.is(printed.length, objects.match(/^kind: /gm)?.length ?? 0);
    t.deepEqual(
      printed.filter((line) => !/^[\w.-]+\/[\w.-]+$/.test(line)),
      [],
    );
    if (rendering.values !== 'everything-values.yaml') return;
    for (const kind of foreign) {
      const [plural = '', ...group] = kind.split('.');
      const prefix = `${plural.replace(/s$/, '')}.${group.join('.')}/`;
      t.true(
        printed.some((line) => line.startsWith(prefix)),
        prefix,
      );
    }
  });
}

test('the API server refuses what these objects must not have', async (t) => {
  const objects = await template({ values: 'everything-values.yaml', kubeVersion: '1.36.0' });
  for (const [from, to, reason] of [
    ['kind: HTTPRoute', 'kind: HTTPRoute\nroute: {}', /HTTPRoute.*unknown field "route"/],
    ['scrapeTimeout: 10s', 'scrapeTimeout: soon', /ServiceMonitor.*scrapeTimeout/s],
    ['dnsNames:', 'dnsName:', /Certificate.*unknown field "spec\.dnsName"/],
    ['refreshInterval: 1h', 'refreshInterval: [1h]', /ExternalSecret.*refreshInterval/s],
    ['minReplicas: 2', 'minReplicas: 200', /HorizontalPodAutoscaler.*maxReplicas/s],
    ['allowPrivilegeEscalation: false', 'allowPrivilegeEscalation: true', /restricted/],
  ] as const) {
    t.true(objects.includes(from), from);
    const error = await t.throwsAsync(create(objects.replaceAll(from, to)), undefined, from);
    t.regex(String(error), reason);
  }
});

test('the Secrets of skaffold.yaml are made once, and fit its backends', async (t) => {
  const program = async () => {
    const child = spawn(process.execPath, [projectFile('charts/development/main.ts')], {
      env: environment(),
    });
    const [printed, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    return { printed, code: code as number };
  };
  const read = () => kubectl(['get', 'secrets', '--namespace=vault', '--output=json']);
  t.like(await program(), { code: 0 });
  const made = await read();
  t.is((JSON.parse(made) as { items: unknown[] }).items.length, 10);
  t.like(await program(), { code: 0 });
  t.is(await read(), made);
  await kubectl(['delete', 'secret', '--namespace=vault', 'pin']);
  const { code, printed } = await program();
  t.is(code, 1);
  t.regex(printed, /lacks some of its Secrets: pin\./);
  const file = projectFile('charts/development/backends.yaml');
  const dry = ['--namespace=vault', '--dry-run=server', '--validate=strict', '--output=name'];
  const created = await kubectl(['create', ...dry, `--filename=${file}`]);
  t.notRegex(created, /warning/i);
  t.is(created.trim().split('\n').length, 12);
});
