import { createLogins, type DatabaseAccess } from './database.ts';
import { spawnGuarded, type GuardedProcess } from '../processes/guarded-process.ts';
import { lockFile, logFile, type Layout } from '../files/layout.ts';
import type { PostgresBinaries } from './binaries.ts';
import { dataDirectory } from './cluster.ts';
import type { UnprivilegedUser } from './user.ts';
import { untilReady } from '../processes/ready.ts';

interface ServerOptions {
  readonly layout: Layout;
  readonly binaries: PostgresBinaries;
  readonly user: UnprivilegedUser | undefined;
  readonly access: DatabaseAccess;
  readonly durable: boolean;
  readonly environment: Record<string, string>;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Starts Postgres on an existing data directory, and creates the logins if they are missing.
 * Resolves once Postgres accepts connections.
 */
export async function startServer(options: ServerOptions): Promise<GuardedProcess> {
  const { layout, binaries, user, access, durable, environment, signal } = options;
  const { argument, directories } = dataDirectory(layout.postgres, user);
  const log = logFile(layout, 'postgres');
  const process = await spawnGuarded(
    {
      name: 'postgres',
      command: binaries.postgres,
      args: ['-D', argument, ...settings(access, durable)],
      cwd: '/',
      env: { TZ: 'UTC', ...environment },
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
  return process;
}

/**
 * Saves time where nothing is to be kept: no sync, and logins that cost both sides little. Has room
 * for the vaults of several test files, of which some start a dozen.
 */
const hasty = {
  max_connections: '600',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  scram_iterations: '1',
};

function settings({ host, port }: DatabaseAccess, durable: boolean): string[] {
  return [
    ...asArguments({ listen_addresses: host, port: String(port), unix_socket_directories: '' }),
    ...commonSettings(durable),
  ];
}

/** Returns arguments of `postgres` for the settings that do not depend on where it runs. */
export function commonSettings(durable: boolean): string[] {
  return asArguments({
    max_connections: '200',
    timezone: 'UTC',
    ...(durable ? {} : hasty),
  });
}

function asArguments(values: Readonly<Record<string, string>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
