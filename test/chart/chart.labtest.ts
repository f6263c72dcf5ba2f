import { execFile } from 'node:child_process';
import { access, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { parse } from 'yaml';
import { projectFile } from '../../app/dev/files/project.ts';
import {
  containersOf,
  helms,
  lint,
  podsOf,
  render,
  template,
  type KubernetesObject,
} from './helm.ts';

const run = promisify(execFile);
const schemas = String(process.env['CHART_SCHEMAS']);
const valueFiles = (await readdir(projectFile('charts/probatio/ci'))).toSorted();

for (const values of valueFiles) {
  test(`Helm 3 and 4 render the same of ${values}, without a warning`, async (t) => {
    for (const helm of Object.values(helms)) {
      const printed = await lint(helm, values);
      t.notRegex(printed, /\[(WARNING|ERROR)\]/);
    }
    const [three, four] = await Promise.all([
      template({ values, helm: helms[3] }),
      template({ values, helm: helms[4] }),
    ]);
    t.is(three, four);
  });

  test(`Kubernetes 1.30 to 1.36 know every member of what ${values} makes`, async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'probatio-chart-'));
    t.teardown(() => rm(directory, { recursive: true }));
    for (let minor = 30; minor <= 36; minor += 1) {
      const version = `1.${minor}.0`;
      const file = join(directory, `${minor}.yaml`);
      await writeFile(file, await template({ values, kubeVersion: version }));
      const directoryOf = '{{.NormalizedKubernetesVersion}}-local-strict';
      const { stdout } = await run(String(process.env['CHART_KUBECONFORM']), [
        '-strict',
        '-summary',
        '-output=json',
        `-kubernetes-version=${version}`,
        `-schema-location=${schemas}/${directoryOf}/{{.ResourceKind}}{{.KindSuffix}}.json`,
        // Others define these, and tests on a cluster apply their definitions.
        '-skip=ServiceMonitor,PrometheusRule,Certificate,ExternalSecret,HTTPRoute',
        file,
      ]);
      const { summary } = JSON.parse(stdout) as { summary: Record<string, number> };
      t.like(summary, { invalid: 0, errors: 0 }, version);
      t.true((summary['valid'] ?? 0) >= 17);
    }
  });

  test(`every pod of ${values} passes the level restricted, and has no token`, async (t) => {
    const pods = (await render({ values })).flatMap(podsOf);
    t.true(pods.length >= 12);
    for (const pod of pods) {
      t.like(pod['spec'], {
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      });
      for (const container of containersOf(pod)) {
        t.like(container['securityContext'], {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
        });
        t.deepEqual(container['securityContext'].capabilities, { drop: ['ALL'] });
        t.truthy(container['resources'].requests.cpu);
        t.truthy(container['resources'].limits.memory);
      }
    }
  });

  test(`in ${values} the signer alone has the PIN, and the migration the owner`, async (t) => {
    for (const pod of (await render({ values })).flatMap(podsOf)) {
      const volumes = pod['spec'].volumes as { name: string }[];
      for (const container of containersOf(pod)) {
        const mounts = (container['volumeMounts'] as { name: string }[]).map(({ name }) => name);
        t.is(mounts.includes('pin'), container['name'] === 'signer');
        t.is(mounts.includes('owner'), container['name'] === 'migrate');
        t.is(mounts.includes('secrets'), container['name'] === 'app');
        for (const name of mounts)
          t.true(
            volumes.some((volume) => volume.name === name),
            name,
          );
      }
    }
  });
}

test('app and signer are different users, who share the socket by their group', async (t) => {
  const pods = (await render()).filter(({ kind }) => kind === 'Deployment').flatMap(podsOf);
  t.is(pods.length, 1);
  for (const pod of pods) {
    const { runAsUser, runAsGroup, fsGroup } = pod['spec'].securityContext;
    t.deepEqual([runAsUser, runAsGroup, fsGroup], [10_001, 10_000, 10_000]);
    const users = containersOf(pod).map(({ name, securityContext }) => [
      name,
      securityContext.runAsUser,
    ]);
    t.deepEqual(users, [
      ['socket', 10_002],
      ['signer', 10_002],
      ['app', undefined],
    ]);
  }
});

test('names have at most 52 characters, whatever that of the release is', async (t) => {
  const release = 'a'.repeat(53);
  const objects = await render({ release });
  const more = await render({ release, values: 'softhsm-values.yaml' });
  for (const { kind, metadata } of [...objects, ...more]) {
    t.true(metadata.name.length <= (kind === 'CronJob' ? 52 : 63), metadata.name);
  }
  const names = objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
  t.is(new Set(names).size, names.length);
});

test('ingress and HTTPRoute reach the API alone', async (t) => {
  const objects = await render({ values: 'everything-values.yaml' });
  const find = (kind: string) => objects.find((object) => object['kind'] === kind);
  const service = objects.find(
    ({ kind, metadata }) =>
      kind === 'Service' && metadata.labels['app.kubernetes.io/component'] === 'api',
  );
  t.deepEqual(
    service?.['spec'].ports.map(({ name }: { name: string }) => name),
    ['http'],
  );
  const name = service?.['metadata'].name;
  t.is(find('Ingress')?.['spec'].rules[0].http.paths[0].backend.service.name, name);
  t.is(find('HTTPRoute')?.['spec'].rules[0].backendRefs[0].name, name);
});

test('a container of the images runs a file of theirs by Node', async (t) => {
  const containers = (await render({ values: 'everything-values.yaml' }))
    .flatMap(podsOf)
    .flatMap(containersOf)
    .filter(({ args }) => args !== undefined);
  t.true(containers.length >= 11);
  for (const { command, args } of containers) {
    t.is(command, undefined);
    t.is(args[0], 'node');
    // That of `helm test` is mounted.
    if (args[1] === '/etc/probatio/installation.mjs') continue;
    await t.notThrowsAsync(access(projectFile(String(args[1]))));
  }
});

test('the PrometheusRule has the rules of the file, unchanged', async (t) => {
  const objects = await render({ values: 'everything-values.yaml' });
  const rule = objects.find(({ kind }) => kind === 'PrometheusRule');
  const file = await readFile(projectFile('charts/probatio/files/rules.yaml'), 'utf8');
  t.deepEqual(rule?.['spec'], parse(file));
  t.is(rule?.['metadata'].labels.release, 'prometheus');
  t.false((await render()).some(({ kind }) => kind === 'PrometheusRule'));
});

test('each dashboard is a ConfigMap that the sidecar of Grafana finds', async (t) => {
  const objects = await render({ values: 'everything-values.yaml' });
  const found = objects.filter(({ metadata }) => metadata.labels?.['grafana_dashboard'] === '1');
  const files = await readdir(projectFile('charts/probatio/files/dashboards'));
  t.deepEqual(
    found.flatMap(({ data }) => Object.keys(data)).toSorted(),
    files.map((name) => `probatio-${name}`).toSorted(),
  );
  for (const { kind, metadata, data } of found) {
    t.is(kind, 'ConfigMap');
    t.is(metadata.annotations.grafana_folder, 'Vault');
    const [[name, content] = []] = Object.entries(data as Record<string, string>);
    const file = `charts/probatio/files/dashboards/${name?.replace('probatio-', '')}`;
    t.deepEqual(JSON.parse(content ?? ''), JSON.parse(await readFile(projectFile(file), 'utf8')));
  }
  t.false(
    (await render()).some(({ metadata }) => metadata.labels?.['grafana_dashboard'] !== undefined),
  );
});

test('a deployment that is scaled by load states no number of replicas', async (t) => {
  const specOf = async (set: readonly string[]) =>
    (await render({ set })).find(({ kind }) => kind === 'Deployment')?.['spec'] as object;
  t.like(await specOf([]), { replicas: 1 });
  t.false('replicas' in (await specOf(['autoscaling.enabled=true'])));
});

test('a token of the chart is read-only, and only its Jobs reach the API server', async (t) => {
  const objects = await render({ values: 'softhsm-values.yaml' });
  for (const object of objects) {
    for (const pod of podsOf(object)) {
      const component = String(pod['metadata'].labels['app.kubernetes.io/component']);
      const hasAccount = JSON.stringify(pod['spec'].volumes).includes('serviceAccountToken');
      t.is(hasAccount, ['bootstrap', 'keygen', 'operator'].includes(component), component);
      for (const { name, volumeMounts } of containersOf(pod)) {
        const tokens = (volumeMounts as KubernetesObject[]).find(
          (mount) => mount['name'] === 'tokens',
        );
        const isWriter = name === 'token' || name === 'provisioner';
        if (name === 'signer') t.true(tokens?.['readOnly']);
        else t.is(tokens !== undefined, isWriter, name);
      }
    }
  }
  const keygens = objects.filter(
    ({ metadata }) => metadata.labels?.['probatio.dev/keygen'] !== undefined,
  );
  t.deepEqual(
    keygens.map(({ spec }) => spec.suspend),
    [true, true],
  );
  t.false((await render()).some(({ metadata }) => /-(?:bootstrap|keygen)/.test(metadata.name)));
});

test('the Secrets of a token that the chart makes are made before the migration', async (t) => {
  const hooks = (await render({ values: 'softhsm-values.yaml' })).filter(
    ({ metadata }) => metadata.annotations?.['helm.sh/hook'] === 'pre-install,pre-upgrade',
  );
  const weightOf = (kind: string, end: string) => {
    const hook = hooks.find(
      (one) => one['kind'] === kind && String(one['metadata'].name).endsWith(end),
    );
    return Number(hook?.['metadata'].annotations['helm.sh/hook-weight']);
  };
  for (const kind of ['ServiceAccount', 'Role', 'RoleBinding'])
    t.true(weightOf(kind, '-bootstrap') < weightOf('Job', '-bootstrap'), kind);
  t.true(weightOf('Job', '-bootstrap') < weightOf('Job', '-migrate'));
});
