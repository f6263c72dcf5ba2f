import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { databaseUrls, type DatabaseUrls } from '../../../app/dev/postgres/database.ts';
import { projectFile } from '../../../app/dev/files/project.ts';
import { createApiKey } from '../../../app/internal-api/api-key-format.ts';
import { withoutLimits } from '../vault/without-limits.ts';
import { addressOf, bucket, databaseName, startBackends, type Backends } from './backends.ts';
import { apply, kubectlOf, variable, type Kubectl } from './kubectl.ts';
import { secret } from './objects.ts';
import { createToken, publicUrl, tokenDirectory, tokenLabel } from './token.ts';

const run = promisify(execFile);
export const release = 'vault';
/** The name of the release's Deployment and of its Service. */
export const fullname = 'vault-probatio';

const definitions = ['signingkeys', 'vaultmaintenances'].map((name) => `${name}.probatio.dev`);

/** A namespace that enforces `restricted`, with all that a vault needs but the vault. */
export interface ClusterVault extends AsyncDisposable {
  readonly namespace: string;
  readonly kubectl: Kubectl;
  readonly mailDirectory: string;
  readonly databases: DatabaseUrls;
  /** The URL of the Service of the API, by a port of this machine. */
  readonly baseUrl: string;
  /**
   * Installs the release, or upgrades it, and waits until it is ready, unless `wait` is false.
   * `set` has further values, as `--set-json` takes them. Throws with what Helm prints.
   */
  install(set?: readonly string[], options?: InstallOptions): Promise<string>;
  helm(...args: readonly string[]): Promise<string>;
}

interface InstallOptions {
  /** Default: true. */
  readonly wait?: boolean;
  /** The directory of the chart; that of this project by default. */
  readonly chart?: string;
}

interface ClusterVaultOptions {
  /** Where the token is: in a claim that stands for an HSM, or in a Secret that the chart makes. */
  readonly tokenMode?: 'external' | 'softhsm';
}

/** Makes a namespace with its backends, its Secrets and, if the chart makes none, a token. */
export async function createClusterVault({
  tokenMode = 'external',
}: ClusterVaultOptions = {}): Promise<ClusterVault> {
  await using resources = new AsyncDisposableStack();
  const namespace = `vault-${randomBytes(4).toString('hex')}`;
  const kubectl = kubectlOf(namespace);
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  await apply(namespace, [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } },
  ]);
  resources.defer(
    async () =>
      void (await kubectl('delete', 'namespace', namespace, '--ignore-not-found', '--wait=false')),
  );
  // Helm keeps the definitions of a release. Their resources go with them.
  resources.defer(
    async () => void (await kubectl('delete', 'crd', '--ignore-not-found', ...definitions)),
  );
  const isExternal = tokenMode === 'external';
  const [backends] = await Promise.all([
    startBackends(namespace, kubectl),
    ...(isExternal ? [createToken(namespace, kubectl)] : []),
  ]);
  const databases = databaseUrls(backends.database, databaseName);
  await apply(namespace, [...secretsOf(backends), ...(isExternal ? createApiKeys() : [])]);

  const directory = await mkdtemp(join(tmpdir(), 'probatio-cluster-'));
  resources.defer(() => rm(directory, { recursive: true }));
  const file = join(directory, 'values.json');
  await writeFile(file, JSON.stringify(isExternal ? { ...values, ...externalValues } : values));
  const proxy = await startProxy();
  resources.defer(() => proxy.close());

  const helm = async (...args: readonly string[]) => {
    const { stdout } = await run(variable('CLUSTER_HELM'), [`--namespace=${namespace}`, ...args], {
      env: { ...process.env, HELM_CONFIG_HOME: directory, HELM_CACHE_HOME: directory },
      maxBuffer: 2 ** 26,
    });
    return stdout;
  };
  const kept = resources.move();
  return {
    namespace,
    kubectl,
    mailDirectory: backends.mailDirectory,
    databases,
    baseUrl: proxy.url,
    helm,
    async install(set = [], { wait = true, chart = projectFile('charts/probatio') } = {}) {
      const printed = await helm(
        'upgrade',
        '--install',
        release,
        chart,
        `--values=${file}`,
        '--timeout=5m',
        ...(wait ? ['--wait'] : []),
        ...set.map((value) => `--set-json=${value}`),
      ).catch(async (error: Error) => {
        error.message += `\n${await describePods(kubectl)}`;
        throw error;
      });
      proxy.direct(await addressOf(kubectl, fullname, 80));
      return printed;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

const image = (name: string) => ({
  repository: `probatio-lab/${name}`,
  tag: 'lab',
  pullPolicy: 'Never',
});

/** Requests with which five pods, as during a change, and their backends fit on two processors. */
const requests = (cpu: string) => ({ requests: { cpu } });
const signer = { image: image('signer'), resources: requests('50m') };

/** The values of every release of the tests. */
const values = {
  image: image('app'),
  resources: requests('100m'),
  http: { publicUrl },
  database: { existingSecret: 'postgres', ownerExistingSecret: 'postgres-owner' },
  redis: { existingSecret: 'redis' },
  storage: {
    s3: { endpoint: 'http://s3:7070', bucket, forcePathStyle: true, existingSecret: 's3' },
  },
  smtp: { existingSecret: 'smtp', from: 'The Vault <no-reply@vault.test>' },
  operator: { image: image('operator') },
  tests: { publicUrl: `http://${fullname}` },
  signer: {
    ...signer,
    token: { mode: 'softhsm' },
    provisioner: { image: image('provisioner') },
  },
  extraEnv: Object.entries(withoutLimits).map(([name, value]) => ({ name, value })),
};

/** Describes the volume of a token that `createToken` has made under a name. */
export function volumeOfToken(name: string) {
  return { name: 'token', persistentVolumeClaim: { claimName: name } };
}

/** The values of a release whose token, and whose internal API keys, are there before it. */
const externalValues = {
  internalApi: { existingSecret: 'internal-api-keys' },
  maintenance: { existingSecret: 'maintenance-api-key' },
  operator: { ...values.operator, existingSecret: 'operator-api-key' },
  signer: {
    ...signer,
    pin: { existingSecret: 'token' },
    token: { label: tokenLabel },
    library: { path: '/usr/lib/softhsm/libsofthsm2.so' },
    extraVolumeMounts: [{ name: 'token', mountPath: tokenDirectory }],
  },
  extraVolumes: [volumeOfToken('token')],
};

function secretsOf({ database, s3 }: Backends) {
  const urls = databaseUrls({ ...database, host: 'postgres' }, databaseName);
  return [
    secret('postgres', { url: urls.app, 'service-url': urls.service }),
    secret('postgres-owner', { 'owner-url': urls.owner }),
    secret('redis', { url: 'redis://redis:6379' }),
    secret('s3', { 'access-key-id': s3.accessKeyId, 'secret-access-key': s3.secretAccessKey }),
    secret('smtp', { url: 'smtp://mail:2525' }),
  ];
}

/** Makes the Secrets of the internal API keys and of their hashes. */
function createApiKeys() {
  const [maintenance, operator] = ['maintenance', 'operator'].map((name) =>
    createApiKey({ name, admin: true }),
  ) as [ReturnType<typeof createApiKey>, ReturnType<typeof createApiKey>];
  return [
    secret('internal-api-keys', {
      'keys.json': JSON.stringify([maintenance.kept, operator.kept]),
    }),
    secret('maintenance-api-key', { 'api-key': maintenance.key }),
    secret('operator-api-key', { 'api-key': operator.key }),
  ];
}

/** Shows why pods are not ready: Helm tells only that they are not. */
async function describePods(kubectl: Kubectl): Promise<string> {
  const pods = await kubectl('get', 'pods', '--output=wide');
  const warnings = await kubectl('get', 'events', '--field-selector=type=Warning');
  return `${pods}\n${warnings}`;
}

/**
 * Passes on connections to the Service of the API: clients of a vault speak plain HTTP with their
 * own machine alone.
 */
async function startProxy() {
  let host = '';
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ host, port: 80, allowHalfOpen: true });
    upstream.on('error', () => client.resetAndDestroy());
    client.on('error', () => upstream.resetAndDestroy());
    client.pipe(upstream).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Passes on to this address from now on. */
    direct(address: string): void {
      host = address;
    },
    close: () => void server.close(),
  };
}
