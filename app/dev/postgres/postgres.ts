import { loadDatabasePasswords, type DatabaseAccess } from './database.ts';
import { freePort } from '../processes/free-port.ts';
import type { GuardedProcess } from '../processes/guarded-process.ts';
import { keepRunning, type RestartingProcess } from '../processes/restarting-process.ts';
import type { Layout } from '../files/layout.ts';
import { findPostgres } from './binaries.ts';
import { createCluster } from './cluster.ts';
import { startServer } from './server.ts';
import { postgresUser } from './user.ts';

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
  /** Called with each unexpected end and each restart. */
  readonly onEvent: (message: string) => void;
  readonly mostRestarts: number;
  readonly signal?: AbortSignal | undefined;
}

export interface PostgresServer extends RestartingProcess {
  readonly access: DatabaseAccess;
}

/**
 * Starts Postgres on a free port of 127.0.0.1. Creates the data directory and the logins if they
 * are missing. Resolves once Postgres accepts connections. Restarts it on the same port if it ends.
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const { onEvent, mostRestarts, signal } = options;
  const { access, start } = await prepareServer(options);
  const server = await keepRunning({ start, onEvent, mostRestarts, signal });
  return Object.assign(server, { access });
}

/** A Postgres server that has its data directory, but does not run yet. */
interface PreparedServer {
  readonly access: DatabaseAccess;
  /** Starts the server; resolves once it accepts connections. */
  readonly start: (signal?: AbortSignal) => Promise<GuardedProcess>;
}

/** Chooses the port of a Postgres server, and creates its data directory if it is missing. */
export async function prepareServer(
  options: Pick<PostgresOptions, 'layout' | 'runtimeDirectory' | 'durable' | 'signal'> & {
    /** Environment variables of the server. */
    readonly environment?: Record<string, string>;
  },
): Promise<PreparedServer> {
  const { layout, runtimeDirectory, durable, environment = {} } = options;
  const passwords = await loadDatabasePasswords(layout.secrets);
  const user = await postgresUser(layout.postgres);
  const binaries = await findPostgres(runtimeDirectory, user);
  await createCluster({ ...options, binaries, user }, passwords.adminPassword);
  const access: DatabaseAccess = { host: '127.0.0.1', port: await freePort(), ...passwords };
  return {
    access,
    start: (signal) =>
      startServer({ layout, binaries, user, access, durable, environment, signal }),
  };
}
