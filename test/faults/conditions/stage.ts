import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase } from '../../../app/dev/postgres/database.ts';
import { migrate } from '../../../app/dev/postgres/migrate.ts';
import { createTokenFixture } from '../../support/audit/token-fixture.ts';
import { mountTmpfs, unmount } from '../../support/documents/tmpfs.ts';
import { createTokenServer, type TokenServer } from '../../support/processes/p11-kit.ts';
import {
  startVaultProcesses,
  type VaultProcesses,
} from '../../support/processes/vault-processes.ts';
import { createKeyFile } from '../../support/vault/key-file.ts';
import { testStack } from '../../support/vault/stack.ts';
import { startOwnPostgres, type OwnPostgres } from '../vault/own-postgres.ts';

const library = [
  '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1',
  '/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1',
].find((path) => existsSync(path));

/** A vault whose surroundings a test can spoil: Postgres, token, object store and clocks. */
export interface Stage extends AsyncDisposable {
  readonly vault: VaultProcesses;
  readonly postgres: OwnPostgres;
  readonly token: TokenServer;
  /** The small file system of the object store. */
  readonly storeMount: string;
  readonly internalKey: string;
  /** Sets the seconds by which a clock is ahead. */
  readonly setClock: (whose: Clock, seconds: number) => Promise<void>;
}

export type Clock = 'app' | 'signer' | 'database';

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
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: fileOf('database'),
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    }),
  );
  const templateDatabase = 'template_vault';
  await createDatabase(postgres.access, templateDatabase);
  await migrate(postgres.access, templateDatabase);

  const fixture = await createTokenFixture();
  resources.defer(() => fixture.remove());
  await fixture.tool('init');
  const token = createTokenServer(fixture);
  await token.start();
  resources.defer(() => token.kill());
  const keys = await createKeyFile();
  resources.defer(() => keys.remove());

  const storeMount = join(directory, 'store');
  await mkdir(storeMount);
  await mountTmpfs(storeMount, '64m,nr_inodes=20000');
  resources.defer(() => unmount(storeMount));

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
  };
  const vault = resources.use(
    await startVaultProcesses(stack, { settings, nodeArguments: ['--import', preload] }),
  );
  const running = resources.move();
  return {
    vault,
    postgres,
    token,
    storeMount,
    internalKey: keys.admin,
    setClock,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
