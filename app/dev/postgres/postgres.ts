import { createLogins, loadDatabasePasswords, type DatabaseAccess } from './database.ts';
import { freePort } from '../processes/free-port.ts';
import { spawnGuarded, type GuardedProcess } from '../processes/guarded-process.ts';
import { lockFile, logFile, type Layout } from '../files/layout.ts';
import { findPostgres } from './binaries.ts';
import { createCluster, dataDirectory } from './cluster.ts';
import { postgresUser } from './user.ts';
import { untilReady } from '../processes/ready.ts';

interface PostgresOptions {
  readonly layout: Layout;
  /**
   * Directory for files that exist only while the stack runs; the user of Postgres can access it.
   */
  readonly runtimeDirectory: string;
  /**
   * Whether data survives a crash of the machine. False is faster, but a crash may lose or corrupt
   * all data.
   */
  readonly durable: boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface PostgresServer extends GuardedProcess {
  readonly access: DatabaseAccess;
}

/**
 * Starts Postgres on a free port of 127.0.0.1. Creates the data directory and the logins if they
 * are missing. Resolves once Postgres accepts connections.
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const { layout, runtimeDirectory, durable, signal } = options;
  const passwords = await loadDatabasePasswords(layout.secrets);
  const user = await postgresUser(layout.postgres);
  const binaries = await findPostgres(runtimeDirectory, user);
  await createCluster({ ...options, binaries, user }, passwords.adminPassword);

  const access: DatabaseAccess = { host: '127.0.0.1', port: await freePort(), ...passwords };
  const { argument, directories } = dataDirectory(layout.postgres, user);
  const log = logFile(layout, 'postgres');
  const process = await spawnGuarded(
    {
      name: 'postgres',
      command: binaries.postgres,
      args: ['-D', argument, ...settings(access, durable)],
      cwd: '/',
      env: { TZ: 'UTC' },
      stopSignal: 'SIGINT',
      lockFile: lockFile(layout, 'postgres'),
      directories,
      ...(user === undefined ? {} : { user }),
    },
    { file: log },
  );
  await untilReady(process, () => createLogins(access), {
    timeoutMs: 60_000,
    signal,
    logFile: log,
  });
  return { ...process, access };
}

function settings({ host, port }: DatabaseAccess, durable: boolean): string[] {
  const values: Record<string, string> = {
    listen_addresses: host,
    port: String(port),
    unix_socket_directories: '',
    max_connections: '200',
    timezone: 'UTC',
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
