import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createDatabase,
  databaseUrls,
  dropDatabase,
  type DatabaseUrls,
} from '../../../app/dev/postgres/database.ts';
import { freePort } from '../../../app/dev/processes/free-port.ts';
import { spawnGuarded, type GuardedProcess } from '../../../app/dev/processes/guarded-process.ts';
import { inheritedEnvironment, nodeProcess } from '../../../app/dev/processes/node-process.ts';
import { untilReady } from '../../../app/dev/processes/ready.ts';
import { startSigner } from '../../../app/dev/signer/signer.ts';
import type { TestStack } from '../vault/stack.ts';
import { createKillable, type KillableProcess } from './killable-process.ts';
import { productionSettings } from '../vault/production.ts';
import { withoutLimits } from '../vault/without-limits.ts';

/** The app and its own signer as real processes, with their own database. */
export interface VaultProcesses extends AsyncDisposable {
  readonly app: KillableProcess;
  readonly signer: KillableProcess;
  /** Stays the same across restarts of the app. */
  readonly baseUrl: string;
  readonly databases: DatabaseUrls;
  readonly mailDirectory: string;
  /** The directory of the filesystem store. */
  readonly objectDirectory: string;
  /** The file to which the app logs, as JSON lines. */
  readonly logFile: string;
}

/** A vault of one app. */
export interface SingleVault extends VaultProcesses {
  readonly signerSocketPath: string;
  /** The usual environment of the app. */
  readonly environment: Record<string, string>;
  /** Starts another app of the vault, with the usual environment. */
  startReplica(): Promise<Replica>;
}

/** Another app of a vault. */
export interface Replica extends KillableProcess {
  readonly baseUrl: string;
}

/** Differences of a process from the usual. */
export interface Override {
  readonly settings?: Readonly<Record<string, string>>;
  /** The file to which the process writes its output. */
  readonly output?: string;
}

export interface VaultProcessesOptions {
  /** Environment variables that override the test's own. */
  readonly settings?: Record<string, string>;
  /** Is asked at each start of a process. */
  readonly override?: (process: 'app' | 'signer') => Override;
  /** Arguments of Node for the app's process, such as --import or --cpu-prof. */
  readonly nodeArguments?: string[];
}

export async function startVaultProcesses(
  { postgres, templateDatabase, redisUrl, signerEnvironment }: TestStack,
  { settings = {}, override = () => ({}), nodeArguments = [] }: VaultProcessesOptions = {},
): Promise<SingleVault> {
  await using resources = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'probatio-vault-'));
  resources.defer(() => rm(directory, { recursive: true, force: true }));
  const database = `vault_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(postgres, database, templateDatabase);
  resources.defer(() => dropDatabase(postgres, database));

  const inside = (name: string) => join(directory, name);
  const databases = databaseUrls(postgres, database);
  const mailDirectory = inside('mail');
  await mkdir(mailDirectory);
  const signerSocketPath = inside('signer.sock');
  const signer = await createKillable(() => {
    const { settings: own, output: file = inside('signer.log') } = override('signer');
    const environment = { ...signerEnvironment, ...own, SIGNER_SOCKET_PATH: signerSocketPath };
    return startSigner({ environment, output: { file } });
  });
  resources.use(signer);

  const port = await freePort();
  const logFile = inside('app.log');
  const environment = {
    ...inheritedEnvironment(),
    ...productionSettings,
    LOG_LEVEL: 'info',
    PORT: String(port),
    DATABASE_URL: databases.app,
    DATABASE_SERVICE_URL: databases.service,
    REDIS_URL: redisUrl,
    STORAGE_DRIVER: 'filesystem',
    STORAGE_DIRECTORY: inside('objects'),
    SIGNER_SOCKET_PATH: signerSocketPath,
    MAIL_DIRECTORY: mailDirectory,
    ...withoutLimits,
    ...settings,
  };
  const startOn = async (ownPort: number, ownLog: string): Promise<Replica> => {
    const url = `http://127.0.0.1:${ownPort}`;
    const replica = await createKillable(() => {
      const { settings: own, output = ownLog } = override('app');
      return startApp({
        environment: { ...environment, PORT: String(ownPort), ...own },
        baseUrl: url,
        logFile: output,
        nodeArguments,
      });
    });
    return Object.assign(replica, { baseUrl: url });
  };
  const app = resources.use(await startOn(port, logFile));

  async function startReplica(): Promise<Replica> {
    const replicaPort = await freePort();
    return startOn(replicaPort, inside(`app-${replicaPort}.log`));
  }

  const running = resources.move();
  return {
    app,
    signer,
    signerSocketPath,
    environment,
    startReplica,
    baseUrl: app.baseUrl,
    databases,
    mailDirectory,
    objectDirectory: inside('objects'),
    logFile,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

interface AppOptions {
  readonly environment: Record<string, string>;
  readonly baseUrl: string;
  readonly logFile: string;
  readonly nodeArguments: string[];
}

async function startApp(options: AppOptions): Promise<GuardedProcess> {
  const { environment, baseUrl, logFile, nodeArguments } = options;
  const spec = nodeProcess('app', ['app/main.ts'], environment, nodeArguments);
  const app = await spawnGuarded(spec, { file: logFile });
  await untilReady(app, () => askReadiness(baseUrl), { timeoutMs: 60_000, logFile });
  return app;
}

/** Throws unless the app reports that it is ready. */
export async function askReadiness(baseUrl: string): Promise<void> {
  const response = await fetch(`${baseUrl}/health/ready`, { signal: AbortSignal.timeout(5_000) });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`not ready: ${response.status}`);
}
