import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnGuarded } from '../../../app/dev/processes/guarded-process.ts';
import { nodeProcess } from '../../../app/dev/processes/node-process.ts';
import { createTokenFixture, type TokenFixture } from '../../support/audit/token-fixture.ts';
import { mountTmpfs, unmount } from '../../support/documents/tmpfs.ts';
import { createTokenServer, type TokenServer } from '../../support/processes/p11-kit.ts';
import { startPgBouncer, type PgBouncer } from '../../support/processes/pgbouncer.ts';
import {
  startVaultProcesses,
  type Override,
  type SingleVault,
} from '../../support/processes/vault-processes.ts';
import { createKeyFile } from '../../support/vault/key-file.ts';
import { createTemplateDatabase } from '../../support/runs/template-database.ts';
import { testStack } from '../../support/vault/stack.ts';
import { startOwnPostgres, type OwnPostgres } from '../vault/own-postgres.ts';

const library = [
  '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1',
  '/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1',
].find((path) => existsSync(path));

/** A vault whose surroundings a test can spoil: Postgres, token, object store, logs and clocks. */
export interface Stage extends AsyncDisposable {
  readonly vault: SingleVault;
  readonly postgres: OwnPostgres;
  /** PgBouncer before Postgres, which the vault does not use unless it is restarted so. */
  readonly pooler: PgBouncer;
  readonly token: TokenServer;
  /** The files of the token and its PIN. */
  readonly fixture: TokenFixture;
  /** A directory for files of the conditions. */
  readonly directory: string;
  /** A small file system for logs. */
  readonly logMount: string;
  /** The small file system of the object store. */
  readonly storeMount: string;
  readonly internalKey: string;
  /** Sets the seconds by which a clock is ahead. */
  readonly setClock: (whose: Clock, seconds: number) => Promise<void>;
  /**
   * Asks app and signer to end, and starts them with these differences from the usual. Throws if
   * one of them does not end by itself with exit code 0.
   */
  readonly restart: (overrides?: Overrides) => Promise<void>;
  /** Starts a further app, which must end by itself. Resolves with its exit code and last line. */
  readonly startAnother: () => Promise<{ readonly code: number | null; readonly line: string }>;
}

/** Differences from the usual of the processes that a test restarts. */
export type Overrides = Readonly<Partial<Record<'app' | 'signer', Override>>>;

export type Clock = 'app' | 'signer' | 'database';

/** Fewer than the vault opens to PgBouncer. */
const pooledConnections = 5;

export async function startStage(): Promise<Stage> {
  if (library === undefined) throw new Error('install libfaketime');
  await using resources = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'probatio-conditions-'));
  resources.defer(() => rm(directory, { recursive: true, force: true }));
  // Postgres runs as another user, who reads its clock here.
  await chmod(directory, 0o755);
  const fileOf = (whose: Clock) => join(directory, `${whose}-clock`);
  const setClock = async (whose: Clock, seconds: number) =>
    // libfaketime takes an offset in seconds with a sign; the preloaded module takes milliseconds.
    writeFile(
      fileOf(whose),
      whose === 'database'
        ? `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}`
        : `${seconds * 1_000}`,
    );
  for (const whose of ['app', 'signer', 'database'] as const) await setClock(whose, 0);

  const postgres = resources.use(
    await startOwnPostgres({
      environment: {
        LD_PRELOAD: library,
        FAKETIME_TIMESTAMP_FILE: fileOf('database'),
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
        DONT_FAKE_MONOTONIC: '1',
      },
    }),
  );
  const templateDatabase = 'template_vault';
  await createTemplateDatabase(postgres.access, templateDatabase);

  const fixture = await createTokenFixture();
  resources.defer(() => fixture.remove());
  await fixture.tool('init');
  const token = createTokenServer(fixture);
  await token.start();
  resources.defer(() => token.kill());
  const keys = await createKeyFile();
  resources.defer(() => keys.remove());

  const mount = async (name: string, size: string) => {
    const path = join(directory, name);
    await mkdir(path);
    await mountTmpfs(path, size);
    resources.defer(() => unmount(path));
    return path;
  };
  const storeMount = await mount('store', '64m,nr_inodes=20000');
  const logMount = await mount('logs', '4m');
  const pooler = resources.use(
    await startPgBouncer({ postgres: postgres.access, poolSize: pooledConnections }),
  );

  const preload = new URL('../../support/processes/shifted-clock.ts', import.meta.url).href;
  const stack = {
    ...testStack(),
    postgres: postgres.access,
    templateDatabase,
    signerEnvironment: {
      ...fixture.environment,
      ...token.environment,
      SIGNER_OPERATION_TIMEOUT_MS: '2000',
      NODE_OPTIONS: `--import=${preload}`,
      CLOCK_SHIFT_FILE: fileOf('signer'),
    },
  };
  const settings = {
    HTTP_INTERNAL_ROUTES: 'both',
    INTERNAL_API_KEYS_FILE: keys.path,
    AUDIT_ALERT_PAUSE_SECONDS: '1',
    // The observer begins uploads and ends none.
    PLANS_STANDARD_OPEN_UPLOADS: '1000000',
    CLOCK_SHIFT_FILE: fileOf('app'),
    STORAGE_DIRECTORY: join(storeMount, 'objects'),
    KEYS_PUBLISH_SECONDS: '0',
  };
  let present: Overrides = {};
  const vault = resources.use(
    await startVaultProcesses(stack, {
      settings,
      override: (name) => present[name] ?? {},
      nodeArguments: ['--import', preload],
    }),
  );
  const running = resources.move();
  return {
    vault,
    postgres,
    pooler,
    token,
    fixture,
    directory,
    logMount,
    storeMount,
    internalKey: keys.admin,
    setClock,
    async restart(overrides = {}) {
      for (const [name, process] of [
        ['app', vault.app],
        ['signer', vault.signer],
      ] as const) {
        const { code, signal } = await process.stop();
        if (code !== 0) throw new Error(`the ${name} ended with ${signal ?? code}`);
      }
      present = overrides;
      await vault.signer.start();
      await vault.app.start();
    },
    startAnother: () => runApp({ ...vault.environment, PORT: '0' }, preload),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function runApp(environment: Record<string, string>, preload: string) {
  const lines: string[] = [];
  const spec = nodeProcess('another app', ['app/main.ts'], environment, ['--import', preload]);
  const app = await spawnGuarded(spec, { onLine: (line) => lines.push(line) });
  const timer = setTimeout(() => app.kill('SIGTERM'), 60_000);
  const { code } = await app.exited;
  clearTimeout(timer);
  return { code, line: lines.at(-1) ?? '' };
}
