import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { basename, join } from 'node:path';
import { CreateBucketCommand } from '@aws-sdk/client-s3';
import {
  createDatabase,
  createLogins,
  type DatabaseAccess,
} from '../../../app/dev/postgres/database.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { createS3Client } from '../../../app/storage/s3/client.ts';
import { apply, variable, type Kubectl } from './kubectl.ts';
import { claim, confinedPod } from './objects.ts';

export const databaseName = 'probatio';
export const bucket = 'evidence';

/** The servers that a vault needs, as pods of its namespace. */
export interface Backends {
  readonly database: DatabaseAccess;
  readonly s3: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** The directory, on this machine, of the e-mails that arrived. */
  readonly mailDirectory: string;
}

interface Backend {
  readonly port: number;
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The claim of its data, if this machine reads them. */
  readonly claimName?: string;
}

/** Starts Postgres, Redis, an S3 server and a mail server, each with a Service of that name. */
export async function startBackends(namespace: string, kubectl: Kubectl): Promise<Backends> {
  const s3 = { accessKeyId: 'lab', secretAccessKey: randomUUID() };
  const adminPassword = randomUUID();
  const backends: Readonly<Record<string, Backend>> = {
    postgres: {
      port: 5432,
      command: ['start-postgres'],
      environment: { POSTGRES_PASSWORD: adminPassword },
    },
    redis: {
      port: 6379,
      command: ['redis-server', '--bind', '0.0.0.0', '--protected-mode', 'no', '--save', ''],
    },
    s3: {
      port: 7070,
      command: ['versitygw', '--port', ':7070', 'posix', '/data'],
      environment: { ROOT_ACCESS_KEY: s3.accessKeyId, ROOT_SECRET_KEY: s3.secretAccessKey },
    },
    mail: { port: 2525, command: ['node', '/opt/mail.cjs', '/data'], claimName: 'mail' },
  };
  await apply(namespace, [
    claim('mail'),
    ...Object.entries(backends).flatMap(([name, backend]) => objectsOf(name, backend)),
  ]);
  await kubectl('wait', '--for=condition=Ready', 'pods', '--selector=backend', '--timeout=120s');
  const database = {
    host: await addressOf(kubectl, 'postgres', 5432),
    port: 5432,
    adminPassword,
    ownerPassword: randomUUID(),
    appPassword: randomUUID(),
    servicePassword: randomUUID(),
  };
  await createLogins(database);
  await createDatabase(database, databaseName);
  await createBucket(`http://${await addressOf(kubectl, 's3', 7070)}:7070`, s3);
  return { database, s3, mailDirectory: await directoryOf(kubectl, 'mail') };
}

/**
 * Returns the address of a Service, which processes of `kube-lab exec` reach, once it passes
 * connections on: kube-proxy follows a moment after a pod is ready.
 */
export async function addressOf(kubectl: Kubectl, service: string, port: number): Promise<string> {
  const query = '--output=jsonpath={.spec.clusterIP}';
  const host = await kubectl('get', 'service', service, query);
  const accepts = async () => {
    const socket = connect({ host, port });
    return once(socket, 'connect')
      .then(
        () => true,
        () => false,
      )
      .finally(() => socket.destroy());
  };
  const what = `${service} to accept connections`;
  await until(accepts, { what, timeoutMs: 30_000, intervalMs: 100 });
  return host;
}

function objectsOf(name: string, { port, command, environment = {}, claimName }: Backend) {
  const labels = { backend: name };
  const container = {
    name,
    image: 'probatio-lab/backends:lab',
    command,
    env: Object.entries(environment).map(([key, value]) => ({ name: key, value })),
    // Without a request, a pod gets next to nothing of a busy node's processors.
    resources: { requests: { cpu: '100m' } },
    readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
  };
  const source = claimName === undefined ? { emptyDir: {} } : claimSource(claimName);
  return [
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels },
      spec: confinedPod({ user: 10_003, container, volumes: [{ name: 'data', ...source }] }),
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { selector: labels, ports: [{ port }] },
    },
  ];
}

const claimSource = (claimName: string) => ({ persistentVolumeClaim: { claimName } });

async function createBucket(endpoint: string, credentials: Backends['s3']): Promise<void> {
  const client = createS3Client({
    endpoint,
    region: 'us-east-1',
    bucket,
    ...credentials,
    forcePathStyle: true,
    checksums: 'when_supported',
  });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  client.destroy();
}

/** Finds the directory, on this machine, of a claim that a pod uses. */
async function directoryOf(kubectl: Kubectl, name: string): Promise<string> {
  const volume = await kubectl('get', 'pvc', name, '--output=jsonpath={.spec.volumeName}');
  const path = await kubectl('get', 'pv', volume, '--output=jsonpath={.spec.hostPath.path}');
  return join(variable('CLUSTER_VOLUMES'), basename(path));
}
