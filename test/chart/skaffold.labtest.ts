import { access, readFile } from 'node:fs/promises';
import { Ajv } from 'ajv';
import test from 'ava';
import { parse, parseAllDocuments } from 'yaml';
import { projectFile } from '../../app/dev/files/project.ts';
import { makeSecrets } from '../../charts/development/secrets.ts';
import { containersOf, podsOf, render, tool, type KubernetesObject } from './helm.ts';

const read = (path: string) => readFile(projectFile(path), 'utf8');
const documentsOf = (text: string) =>
  parseAllDocuments(text, { version: '1.1' }).map((one) => one.toJSON() as KubernetesObject);

const configurations = documentsOf(await read('skaffold.yaml'));
const found = (name: string) => {
  const configuration = configurations.find(({ metadata }) => metadata.name === name);
  if (configuration === undefined) throw new Error(`skaffold.yaml has no configuration ${name}`);
  return configuration;
};
const artifacts: readonly KubernetesObject[] = found('images')['build'].artifacts;
const built = artifacts.map(({ image }) => String(image));
const release = found('vault')['deploy'].helm.releases[0] as KubernetesObject;
const profiles: readonly KubernetesObject[] = found('vault')['profiles'];
const backends = (
  await Promise.all(found('backends')['manifests'].rawYaml.map((path: string) => read(path)))
).flatMap(documentsOf);

/** Renders the release as Skaffold does, with images of a name and a tag of their own. */
async function renderRelease(moreFiles: readonly string[] = []): Promise<KubernetesObject[]> {
  const templates = Object.entries(release['setValueTemplates'] as Record<string, string>);
  const set = templates.map(([name, template]) => `${name}=${JSON.stringify(expand(template))}`);
  const files = [...release['valuesFiles'], ...moreFiles].map((path) => projectFile(path));
  return render({ files, set, release: release['name'] });
}

function expand(template: string): string {
  const [, part, name] = /^\{\{ \.IMAGE_(REPO|TAG|DIGEST)_(\w+) \}\}$/.exec(template) ?? [];
  const image = built.find((one) => one.replace(/[^\w]/g, '_') === name);
  if (image === undefined) throw new Error(`no image is built for ${template}`);
  return { REPO: `built.test/${image}`, TAG: 'now' }[part ?? ''] ?? '';
}

const filesOf = ({ patches }: KubernetesObject): string[] =>
  (patches as { op: string; path: string; value: string }[]).map(({ op, path, value }) => {
    if (op !== 'add' || path !== '/deploy/helm/releases/0/valuesFiles/-')
      throw new Error(`the test does not know the patch ${op} ${path}`);
    return value;
  });

const imagesOf = (objects: readonly KubernetesObject[]) =>
  new Set(
    objects
      .flatMap(podsOf)
      .flatMap(containersOf)
      .map(({ image }) => String(image)),
  );

test('each configuration is valid by the schema of Skaffold', async (t) => {
  const schema = JSON.parse(await readFile(tool('skaffold.json'), 'utf8')) as object;
  const isValid = new Ajv({ strict: false }).compile(schema);
  t.is(configurations.length, 3);
  for (const configuration of configurations)
    t.true(isValid(configuration), JSON.stringify(isValid.errors, undefined, 2));
});

test('every file, target and argument that skaffold.yaml names exists', async (t) => {
  const dockerfile = await read('Dockerfile');
  for (const { docker } of artifacts) {
    t.is(docker.dockerfile, 'Dockerfile');
    t.regex(dockerfile, new RegExp(`^FROM \\S+ AS ${docker.target}$`, 'm'));
    for (const name of Object.keys(docker.buildArgs))
      t.regex(dockerfile, new RegExp(`^ARG ${name}$`, 'm'));
  }
  const files = [...release['valuesFiles'], ...profiles.flatMap(filesOf)];
  for (const path of [...files, `${release['chartPath']}/Chart.yaml`])
    await t.notThrowsAsync(access(projectFile(path)));
  const names = new Set(configurations.map(({ metadata }) => metadata.name));
  for (const { requires = [] } of configurations)
    for (const { configs } of requires) for (const name of configs) t.true(names.has(name));
  const [{ host }] = found('backends')['deploy'].kubectl.hooks.before;
  t.deepEqual(host.command.slice(0, 3), ['npm', 'run', '--silent']);
  const { scripts } = JSON.parse(await read('package.json')) as { scripts: object };
  t.true(host.command[3] in scripts);
});

for (const files of [[], ...profiles.map(filesOf)]) {
  const title = files.length === 0 ? 'no profile' : files.join(', ');

  test(`the vault is made of the images that are built: ${title}`, async (t) => {
    const images = imagesOf(await renderRelease(files));
    t.deepEqual([...images].toSorted(), built.map((name) => `built.test/${name}:now`).toSorted());
  });

  test(`every Secret and claim that is mounted is made: ${title}`, async (t) => {
    const claims = new Set(
      backends
        .filter(({ kind }) => kind === 'PersistentVolumeClaim')
        .map(({ metadata }) => metadata.name as string),
    );
    const keys = new Map(
      makeSecrets().map(({ metadata, stringData }) => [metadata.name, Object.keys(stringData)]),
    );
    const pods = [...(await renderRelease(files)), ...backends].flatMap(podsOf);
    t.true(pods.length > 20);
    const used = new Set<string>();
    for (const pod of pods) {
      for (const [name, key] of secretKeysOf(pod)) {
        t.true(keys.get(name)?.includes(key), `${name}: ${key}`);
        used.add(name);
      }
      for (const { persistentVolumeClaim } of pod['spec'].volumes)
        if (persistentVolumeClaim !== undefined)
          t.true(claims.has(persistentVolumeClaim.claimName));
    }
    t.deepEqual([...used].toSorted(), [...keys.keys()].toSorted());
  });
}

/** Lists the Secrets that a pod uses, each with the key; one that is mounted whole, with `pin`. */
function secretKeysOf(pod: KubernetesObject): (readonly [string, string])[] {
  const volumes = pod['spec'].volumes as KubernetesObject[];
  const sources = [
    ...volumes.flatMap(({ secret }) =>
      secret === undefined ? [] : { name: secret.secretName, items: secret.items },
    ),
    ...volumes
      .flatMap(({ projected }) => (projected?.sources ?? []) as KubernetesObject[])
      .flatMap(({ secret }) => secret ?? []),
  ];
  const mounted = sources.flatMap(({ name, items = [{ key: 'pin' }] }) =>
    items.map(({ key }: KubernetesObject) => [name, key] as const),
  );
  const variables = containersOf(pod)
    .flatMap(({ env = [] }) => env as KubernetesObject[])
    .flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? [])
    .map(({ name, key }: KubernetesObject) => [name, key] as const);
  return [...mounted, ...variables];
}

test('backends are the public images of docker-compose.yml, and the signer', async (t) => {
  const { services } = parse(await read('docker-compose.yml'), { merge: true }) as {
    services: Record<string, { image: string }>;
  };
  const composed = new Set(
    Object.values(services).map(({ image }) => image.replace(/^.*:-(.*)\}$/, '$1')),
  );
  const images = imagesOf(backends);
  t.true(images.delete('probatio/signer'));
  t.is(images.size, 4);
  for (const image of images) t.true(composed.has(image), image);
});

test('the logins are those that the README makes', async (t) => {
  const plain = (sql: string) => sql.replaceAll(/password '[^']*'|\s/g, '');
  const [, sql = ''] =
    /^```sql\n(create role probatio_owner [^`]*)^```$/m.exec(await read('README.md')) ?? [];
  const server = makeSecrets().find(({ metadata }) => metadata.name === 'postgres-server');
  t.is(plain(server?.stringData['logins.sql'] ?? ''), plain(sql));
});

test('the ports that are forwarded are those of Services', async (t) => {
  const services = [...(await renderRelease()), ...backends].filter(
    ({ kind }) => kind === 'Service',
  );
  const forwards = configurations.flatMap(({ portForward = [] }) => portForward);
  t.is(forwards.length, 2);
  for (const { resourceName, port } of forwards) {
    const service = services.find(({ metadata }) => metadata.name === resourceName);
    t.true(service?.['spec'].ports.some((one: KubernetesObject) => one['port'] === port));
  }
});

test('the vault reaches each backend by a Service of that port', async (t) => {
  const services = backends.filter(({ kind }) => kind === 'Service');
  const hosts = new Set(
    services.flatMap(({ metadata, spec }) =>
      spec.ports.map(({ port }: KubernetesObject) => `${metadata.name}:${port}`),
    ),
  );
  const config = (await renderRelease()).find(
    ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'vault-probatio',
  );
  const urls = [
    config?.['data'].STORAGE_ENDPOINT,
    ...makeSecrets().flatMap(({ stringData }) =>
      Object.entries(stringData).flatMap(([name, value]) => (name.endsWith('url') ? value : [])),
    ),
  ];
  t.is(urls.length, 6);
  for (const url of urls) t.true(hosts.has(new URL(url).host), new URL(url).host);
});
