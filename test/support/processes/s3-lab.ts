import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CreateBucketCommand } from '@aws-sdk/client-s3';
import { freePort } from '../../../app/dev/processes/free-port.ts';
import { spawnGuarded } from '../../../app/dev/processes/guarded-process.ts';
import { inheritedEnvironment } from '../../../app/dev/processes/node-process.ts';
import { projectFile } from '../../../app/dev/files/project.ts';
import { untilReady } from '../../../app/dev/processes/ready.ts';
import { mountTmpfs } from '../documents/tmpfs.ts';
import { createS3Client, type S3Config } from '../../../app/storage/s3/client.ts';

const run = promisify(execFile);
/** Stops the server on SIGTERM, which the watchdog of a killed test also sends. */
const script = `
  trap '"$0" down; exit' TERM
  "$0" up || exit
  sleep infinity & wait`;
const startLimitMs = 900_000;

export interface S3Lab extends AsyncDisposable {
  /** Configuration of an empty bucket. */
  readonly config: S3Config & {
    readonly endpoint: string;
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
  };
  /** The STORAGE_… variables of an app that uses the bucket. */
  readonly settings: Record<string, string>;
  /** The directory with the server's files. */
  readonly directory: string;
  /** Sends SIGKILL to the server. Its stored objects remain. */
  kill(): Promise<void>;
  /** Starts the server again with the same objects. */
  start(): Promise<void>;
}

/**
 * Starts VersityGW through test/labs/s3-lab, on its own port and directory, which is a file system
 * of its own if `size` is given, such as 64m.
 */
export async function startS3Lab({ size }: { readonly size?: string } = {}): Promise<S3Lab> {
  await using resources = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), 'probatio-s3-'));
  resources.defer(() => rm(home, { recursive: true, force: true }));
  // The server's binaries are kept between runs, as building them takes minutes.
  const binaries = join(homedir(), '.cache', 's3-lab', 'bin');
  await mkdir(binaries, { recursive: true });
  await symlink(binaries, join(home, 'bin'));

  const directory = join(home, 'versitygw');
  if (size !== undefined) {
    await mkdir(directory);
    await mountTmpfs(directory, size);
    resources.defer(async () => {
      await run('umount', ['-l', directory]);
    });
  }
  const labEnvironment = {
    ...inheritedEnvironment(),
    S3_LAB_HOME: home,
    S3_LAB_PORT: String(await freePort()),
  };
  const lines: string[] = [];
  const lab = await spawnGuarded(
    {
      name: 's3-lab',
      command: 'bash',
      args: ['-c', script, projectFile('test/labs/s3-lab')],
      cwd: home,
      env: labEnvironment,
      stopSignal: 'SIGTERM',
    },
    { onLine: (line) => lines.push(line) },
  );
  resources.use(lab);
  const findExports = () => lines.find((line) => line.startsWith('export '));
  await untilReady(
    lab,
    async () => {
      if (findExports() === undefined) throw new Error(lines.join('\n'));
    },
    { timeoutMs: startLimitMs },
  );
  const variables = parseExports(findExports() ?? '');

  const config = {
    endpoint: variables['S3_ENDPOINT'] ?? '',
    region: variables['S3_REGION'] ?? '',
    bucket: `bucket-${randomUUID()}`,
    accessKeyId: variables['S3_ACCESS_KEY_ID'] ?? '',
    secretAccessKey: variables['S3_SECRET_ACCESS_KEY'] ?? '',
    forcePathStyle: true,
    checksums: 'when_supported' as const,
  };
  const client = createS3Client(config);
  await client.send(new CreateBucketCommand({ Bucket: config.bucket }));
  client.destroy();

  const running = resources.move();
  return {
    config,
    directory,
    settings: {
      STORAGE_DRIVER: 's3',
      STORAGE_ENDPOINT: config.endpoint,
      STORAGE_REGION: config.region,
      STORAGE_BUCKET: config.bucket,
      STORAGE_ACCESS_KEY_ID: config.accessKeyId,
      STORAGE_SECRET_ACCESS_KEY: config.secretAccessKey,
      STORAGE_FORCE_PATH_STYLE: 'true',
    },
    async kill() {
      const pidFile = join(directory, 'pid');
      process.kill(Number(await readFile(pidFile, 'utf8')), 'SIGKILL');
      // Without this the lab would take a zombie for a running server.
      await rm(pidFile);
    },
    async start() {
      await run('bash', [projectFile('test/labs/s3-lab'), 'up'], { env: labEnvironment });
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Parses a line such as `export A=1 B=2`. */
function parseExports(text: string): Record<string, string> {
  const assignments = text.matchAll(/(\w+)=(\S+)/g);
  return Object.fromEntries([...assignments].map(([, name = '', value = '']) => [name, value]));
}
