import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  RbacAuthorizationV1Api,
  VersionApi,
  type V1Role,
} from '@kubernetes/client-node';
import { parseAllDocuments } from 'yaml';
import { projectFile } from '../../../app/dev/files/project.ts';
import { freePort } from '../../../app/dev/processes/free-port.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { connect } from '../../../k8s/cluster/connection.ts';
import { createResources } from '../../../k8s/cluster/resources.ts';
import { definitionOf, kinds } from '../../../k8s/resources/definitions.ts';
import type { TcpProxy } from '../../support/network/tcp-proxy.ts';

const programs = process.env['OPERATOR_LAB_BIN'] ?? '/var/lib/kube-lab/bin';
export const namespace = 'vault';
/** The account of the operator, as the chart names it for the release `vault`. */
const account = `system:serviceaccount:${namespace}:vault-operator`;

export interface ApiServer {
  readonly url: string;
  /** The configuration of an administrator. */
  readonly admin: KubeConfig;
  /** The configuration of the operator's account. */
  readonly operator: KubeConfig;
  /** Returns the configuration of the operator's account behind a proxy. */
  operatorBehind(proxy: TcpProxy): KubeConfig;
  /** Where pods would find it. */
  readonly address: { readonly port: number; readonly caFile: string };
  /** Kills the API server, and starts it again. */
  restart(): Promise<void>;
  /** Compacts etcd: no change until now can be watched any more. */
  compact(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts etcd and a Kubernetes API server on loopback, with the operator's definitions. */
export async function startApiServer(): Promise<ApiServer> {
  const directory = await mkdtemp(join(tmpdir(), 'probatio-api-server-'));
  const [client, peer, secure] = [await freePort(), await freePort(), await freePort()];
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const keyFile = join(directory, 'sa.key');
  await writeFile(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const tokenFile = join(directory, 'tokens.csv');
  await writeFile(
    tokenFile,
    `admin-token,admin,admin,"system:masters"\noperator-token,${account},operator\n`,
  );
  const etcd = run('etcd', [
    `--data-dir=${directory}/etcd`,
    '--unsafe-no-fsync',
    '--log-level=error',
    `--listen-client-urls=http://127.0.0.1:${client}`,
    `--advertise-client-urls=http://127.0.0.1:${client}`,
    `--listen-peer-urls=http://127.0.0.1:${peer}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`,
    `--initial-cluster=default=http://127.0.0.1:${peer}`,
  ]);
  const startServer = () =>
    run('kube-apiserver', [
      `--etcd-servers=http://127.0.0.1:${client}`,
      `--cert-dir=${directory}/certificates`,
      '--bind-address=127.0.0.1',
      `--secure-port=${secure}`,
      '--endpoint-reconciler-type=none',
      '--service-cluster-ip-range=10.0.0.0/24',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${keyFile}`,
      `--service-account-signing-key-file=${keyFile}`,
      `--token-auth-file=${tokenFile}`,
      '--authorization-mode=RBAC',
      '--disable-admission-plugins=ServiceAccount',
    ]);
  let server = startServer();
  const url = `https://127.0.0.1:${secure}`;
  const admin = configOf(url, 'admin-token');
  const untilServing = () =>
    until(() => succeeds(connect(admin, VersionApi).getCode()), {
      what: 'the API server',
      timeoutMs: 240_000,
    });
  await untilServing();
  await install(admin);
  await bindRole(admin);
  return {
    url,
    admin,
    operator: configOf(url, 'operator-token'),
    operatorBehind: (proxy) => configOf(new URL(proxy.url).origin, 'operator-token'),
    address: { port: secure, caFile: join(directory, 'certificates', 'apiserver.crt') },
    async restart() {
      await kill(server);
      server = startServer();
      await untilServing();
      // It answers 503 until it has read the definitions.
      const resources = createResources({
        kubeConfig: admin,
        namespace,
        onInvalid: () => undefined,
      });
      await until(() => succeeds(resources.listSigningKeys()), {
        what: 'the custom resources',
        timeoutMs: 120_000,
      });
    },
    compact: () => compact(`http://127.0.0.1:${client}`),
    async stop() {
      await kill(server);
      await kill(etcd);
      await rm(directory, { recursive: true });
    },
  };
}

async function install(admin: KubeConfig): Promise<void> {
  // The typed client would drop members such as x-kubernetes-validations.
  const objects = connect(admin, CustomObjectsApi);
  const place = {
    group: 'apiextensions.k8s.io',
    version: 'v1',
    plural: 'customresourcedefinitions',
  };
  const core = connect(admin, CoreV1Api);
  await until(() => succeeds(core.createNamespace({ body: { metadata: { name: namespace } } })), {
    what: 'the namespace',
    timeoutMs: 60_000,
  });
  for (const kind of kinds) {
    const body = definitionOf(kind);
    await objects.createClusterCustomObject({ ...place, body });
    await until(
      async () => {
        const { name } = body.metadata;
        const found: unknown = await objects.getClusterCustomObject({ ...place, name });
        return JSON.stringify(found).includes('"type":"Established","status":"True"');
      },
      { what: body.metadata.name, timeoutMs: 60_000 },
    );
  }
}

/** Gives the operator's account the Role of the chart. */
async function bindRole(admin: KubeConfig): Promise<void> {
  const file = projectFile('charts/probatio/templates/operator/role.yaml');
  const plain = (await readFile(file, 'utf8'))
    .replaceAll('{{ $name }}', 'vault-operator')
    .replaceAll('{{ .Release.Namespace }}', namespace)
    .replace(/^.*\{\{.*$/gm, '');
  const [role, binding] = parseAllDocuments(plain).map((one): unknown => one.toJSON());
  const rbac = connect(admin, RbacAuthorizationV1Api);
  await rbac.createNamespacedRole({ namespace, body: role as V1Role });
  await rbac.createNamespacedRoleBinding({ namespace, body: binding as never });
}

async function compact(etcd: string): Promise<void> {
  const post = async (path: string, body: object) => {
    const response = await fetch(`${etcd}/v3/kv/${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`etcd answered ${response.status}`);
    return (await response.json()) as { readonly header: { readonly revision: string } };
  };
  const { header } = await post('range', { key: Buffer.alloc(1).toString('base64') });
  await post('compaction', { revision: header.revision, physical: true });
}

function configOf(server: string, token: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'lab', server, skipTLSVerify: true },
    { name: token, token },
  );
  return config;
}

function run(program: string, args: readonly string[]): ChildProcess {
  return spawn(join(programs, program), args, { stdio: 'ignore' });
}

async function succeeds(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => true,
    () => false,
  );
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
