import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createDatabase,
  databaseUrls,
  type DatabaseAccess,
} from '../../../app/dev/postgres/database.ts';
import { freePort } from '../../../app/dev/processes/free-port.ts';
import { spawnGuarded } from '../../../app/dev/processes/guarded-process.ts';
import { migrate } from '../../../app/dev/postgres/migrate.ts';
import { inheritedEnvironment, nodeProcess } from '../../../app/dev/processes/node-process.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { untilReady } from '../../../app/dev/processes/ready.ts';
import { startSigner } from '../../../app/dev/signer/signer.ts';
import { createKeyFile } from '../../support/vault/key-file.ts';
import { createTokenServer } from '../../support/processes/p11-kit.ts';
import { createTokenFixture } from '../../support/audit/token-fixture.ts';
import type { TestStack } from '../../support/vault/stack.ts';
import { createKillable, type KillableProcess } from '../../support/processes/killable-process.ts';
import { startOwnPostgres, type OwnPostgres } from './own-postgres.ts';
import { replicaSettings } from './replica-settings.ts';
import { askReadiness, type VaultProcesses } from '../../support/processes/vault-processes.ts';

/** A component of a vault that a test may kill and restart. */
export interface Part extends Pick<KillableProcess, 'kill' | 'start'> {
  readonly name: string;
}

/**
 * Two apps on one database, with their own Postgres, signer and token (behind a socket). `app` and
 * `baseUrl` belong to the first app.
 */
export interface ReplicatedVault extends VaultProcesses {
  readonly otherApp: KillableProcess;
  readonly baseUrls: readonly string[];
  /** The internal API key, which both apps accept. */
  readonly internalKey: string;
  readonly postgres: OwnPostgres;
  /** The components; each depends only on those before it. */
  readonly parts: readonly Part[];
}

interface ReplicatedVaultOptions {
  /** Starts a pooler before Postgres; resolves with the logins by way of it. */
  readonly startPooler?: (postgres: DatabaseAccess) => Promise<DatabaseAccess>;
}

export async function startReplicatedVault(
  { redisUrl }: Pick<TestStack, 'redisUrl'>,
  { startPooler = async (postgres) => postgres }: ReplicatedVaultOptions = {},
): Promise<ReplicatedVault> {
  await using resources = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'probatio-replicas-'));
  resources.defer(() => rm(directory, { recursive: true, force: true }));
  const inside = (name: string) => join(directory, name);
  const mailDirectory = inside('mail');
  await mkdir(mailDirectory);
  const keyFile = await createKeyFile();
  resources.defer(() => keyFile.remove());

  const postgres = resources.use(await startOwnPostgres());
  const database = 'vault';
  await createDatabase(postgres.access, database);
  await migrate(postgres.access, database);
  const databases = databaseUrls(postgres.access, database);
  const pooled = databaseUrls(await startPooler(postgres.access), database);

  const fixture = await createTokenFixture();
  resources.defer(() => fixture.remove());
  await fixture.tool('init');
  const token = createTokenServer(fixture);
  await token.start();
  resources.defer(() => token.kill());
  const signer = await createKillable(() =>
    startSigner({
      environment: { ...fixture.environment, ...token.environment },
      output: { file: inside('signer.log') },
    }),
  );
  resources.use(signer);

  const logFile = inside('app.log');
  const settings = replicaSettings({
    databases: pooled,
    redisUrl,
    keyFile: keyFile.path,
    objectDirectory: inside('objects'),
    mailDirectory,
  });
  const startApp = async (port: number) => {
    const spec = nodeProcess('app', ['app/main.ts'], {
      ...inheritedEnvironment(),
      ...settings,
      PORT: String(port),
      SIGNER_SOCKET_PATH: fixture.environment.SIGNER_SOCKET_PATH,
    });
    const app = await spawnGuarded(spec, { file: logFile });
    const isReady = () => askReadiness(`http://127.0.0.1:${port}`);
    await untilReady(app, isReady, { timeoutMs: 60_000, intervalMs: 100, logFile });
    return app;
  };
  const [port, otherPort] = [await freePort(), await freePort()];
  const app = resources.use(await createKillable(() => startApp(port)));
  const otherApp = resources.use(await createKillable(() => startApp(otherPort)));

  const running = resources.move();
  const baseUrl = `http://127.0.0.1:${port}`;
  return {
    app,
    otherApp,
    signer,
    baseUrl,
    baseUrls: [baseUrl, `http://127.0.0.1:${otherPort}`],
    databases,
    mailDirectory,
    objectDirectory: inside('objects'),
    logFile,
    internalKey: keyFile.admin,
    postgres,
    parts: [
      toPart('Postgres', postgres),
      toPart('token', token),
      toPart('signer', signer),
      toPart('app 1', app),
      toPart('app 2', otherApp),
    ],
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function toPart(name: string, { kill, start }: Omit<Part, 'name'>): Part {
  return { name, kill, start };
}

/** Waits until both apps report that they are ready. */
export function untilAppsReady({ baseUrls }: Pick<ReplicatedVault, 'baseUrls'>): Promise<boolean> {
  const areReady = () =>
    Promise.all(baseUrls.map(askReadiness)).then(
      () => true,
      () => false,
    );
  return until(areReady, { what: 'both apps', timeoutMs: 60_000, intervalMs: 100 });
}
