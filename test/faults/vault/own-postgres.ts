import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  asAdmin,
  createLogins,
  loadDatabasePasswords,
  type DatabaseAccess,
} from '../../../app/dev/postgres/database.ts';
import { freePort } from '../../../app/dev/processes/free-port.ts';
import { spawnGuarded } from '../../../app/dev/processes/guarded-process.ts';
import { createLayout, logFile } from '../../../app/dev/files/layout.ts';
import { findPostgres } from '../../../app/dev/postgres/binaries.ts';
import { createCluster, dataDirectory } from '../../../app/dev/postgres/cluster.ts';
import { postgresUser } from '../../../app/dev/postgres/user.ts';
import { untilReady } from '../../../app/dev/processes/ready.ts';
import {
  createRuntimeDirectory,
  removeRuntimeDirectory,
} from '../../../app/dev/processes/runtime-directory.ts';
import { createKillable } from '../../support/processes/killable-process.ts';

/** A Postgres that keeps its commits when it is killed, and restarts on the same port. */
export interface OwnPostgres extends AsyncDisposable {
  readonly access: DatabaseAccess;
  /** Sends SIGKILL to all its processes at once, so that no backend completes its work. */
  kill(): Promise<void>;
  /** Starts Postgres; resolves once it has recovered. */
  start(): Promise<void>;
  /** Stops all its processes by SIGSTOP: connections stay open, and nothing is answered. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

/** @param environment Environment variables of the server. */
export async function startOwnPostgres(
  environment: Record<string, string> = {},
): Promise<OwnPostgres> {
  await using resources = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'probatio-postgres-'));
  resources.defer(() => rm(directory, { recursive: true, force: true }));
  const layout = await createLayout(directory);
  const runtimeDirectory = await createRuntimeDirectory(join(layout.locks, 'runtime-directory'));
  resources.defer(() => removeRuntimeDirectory(runtimeDirectory));
  const passwords = await loadDatabasePasswords(layout.secrets);
  const user = await postgresUser(layout.postgres);
  const binaries = await findPostgres(runtimeDirectory, user);
  const cluster = { layout, runtimeDirectory, binaries, user, durable: true };
  await createCluster(cluster, passwords.adminPassword);

  const access: DatabaseAccess = { host: '127.0.0.1', port: await freePort(), ...passwords };
  const { argument, directories } = dataDirectory(layout.postgres, user);
  const file = logFile(layout, 'postgres');
  const server = await createKillable(async () => {
    const process = await spawnGuarded(
      {
        name: 'postgres',
        command: binaries.postgres,
        args: ['-D', argument, ...settings(access)],
        cwd: '/',
        env: { TZ: 'UTC', ...environment },
        stopSignal: 'SIGINT',
        directories,
        ...(user === undefined ? {} : { user }),
      },
      { file },
    );
    const answers = () => asAdmin(access, (client) => client.query('select 1'));
    await untilReady(process, answers, { timeoutMs: 60_000, logFile: file });
    return process;
  });
  resources.use(server);
  await createLogins(access);

  const signalAll = async (signal: NodeJS.Signals) => {
    for (const pid of [server.pid, ...(await childrenOf(server.pid))]) process.kill(pid, signal);
  };
  const running = resources.move();
  return {
    access,
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    start: () => server.start(),
    async kill() {
      // Stops the postmaster first, so that it neither handles its children's death nor starts
      // more.
      process.kill(server.pid, 'SIGSTOP');
      for (const child of await childrenOf(server.pid)) process.kill(child, 'SIGKILL');
      await server.kill();
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function settings({ host, port }: DatabaseAccess): string[] {
  const values = {
    listen_addresses: host,
    port: String(port),
    unix_socket_directories: '',
    max_connections: '200',
    timezone: 'UTC',
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** Returns the children of a process with one thread. Linux only. */
async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.trim().split(' ').filter(Boolean).map(Number);
}
