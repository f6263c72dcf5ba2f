import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { tmpdir } from 'node:os';
import { Client } from 'pg';
import { databaseUrls, type DatabaseAccess } from '../../../app/dev/postgres/database.ts';
import { postgresUser } from '../../../app/dev/postgres/user.ts';
import { freePort } from '../../../app/dev/processes/free-port.ts';
import { spawnGuarded } from '../../../app/dev/processes/guarded-process.ts';
import { untilReady } from '../../../app/dev/processes/ready.ts';
import { createKillable, type KillableProcess } from './killable-process.ts';

/** PgBouncer in transaction mode before a Postgres server. */
export interface PgBouncer extends KillableProcess {
  /** The logins of the Postgres server, by way of PgBouncer. */
  readonly access: DatabaseAccess;
  readonly version: string;
  /** Whether it keeps track of prepared statements, as PgBouncer does from 1.21. */
  readonly tracksStatements: boolean;
  /** Runs a command of its console, such as `show servers`. */
  show(command: string): Promise<readonly Record<string, unknown>[]>;
}

interface PgBouncerOptions {
  readonly postgres: DatabaseAccess;
  /** Maximum number of connections to Postgres for each login. */
  readonly poolSize: number;
}

/** Starts the PgBouncer of this machine, or the program that PGBOUNCER names. */
export async function startPgBouncer(options: PgBouncerOptions): Promise<PgBouncer> {
  const { postgres } = options;
  await using resources = new AsyncDisposableStack();
  const program = findProgram();
  const version = readVersion(program);
  const tracksStatements = isAtLeast(version, [1, 21]);
  // Under root, PgBouncer runs as another user, who may have no access to root's TMPDIR.
  const parent = process.getuid?.() === 0 ? '/tmp' : tmpdir();
  const directory = await mkdtemp(join(parent, 'probatio-pgbouncer-'));
  resources.defer(() => rm(directory, { recursive: true, force: true }));
  const user = await postgresUser(directory);
  const access = { ...postgres, host: '127.0.0.1', port: await freePort() };
  const settings = { ...options, access, directory, tracksStatements };
  await writeFile(join(directory, 'users'), users(postgres), { mode: 0o600 });
  await writeFile(join(directory, 'pgbouncer.ini'), configuration(settings), { mode: 0o600 });
  await chmod(directory, 0o700);
  if (user !== undefined) {
    for (const name of ['', 'users', 'pgbouncer.ini']) {
      await chown(join(directory, name), user.uid, user.gid);
    }
  }
  const show = (command: string) => onConsole(access, command);
  const lines: string[] = [];
  const server = await createKillable(async () => {
    const started = await spawnGuarded(
      {
        name: 'pgbouncer',
        command: program,
        args: [join(directory, 'pgbouncer.ini')],
        cwd: '/',
        env: {},
        stopSignal: 'SIGINT',
        ...(user === undefined ? {} : { user }),
      },
      { onLine: (line) => lines.push(line) },
    );
    await untilReady(started, () => show('show version'), { timeoutMs: 60_000 }).catch((error) => {
      throw new Error(lines.slice(-20).join('\n'), { cause: error });
    });
    return started;
  });
  resources.use(server);
  const running = resources.move();
  return {
    get pid() {
      return server.pid;
    },
    access,
    version: version.join('.'),
    tracksStatements,
    show,
    kill: () => server.kill(),
    stop: () => server.stop(),
    start: () => server.start(),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function findProgram(): string {
  const named = process.env['PGBOUNCER'];
  const directories = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'];
  const program =
    named ?? directories.map((each) => join(each, 'pgbouncer')).find((path) => existsSync(path));
  if (program === undefined) throw new Error('install PgBouncer');
  return program;
}

function readVersion(program: string): readonly number[] {
  const text = execFileSync(program, ['--version'], { encoding: 'utf8' });
  const found = /PgBouncer (\d+)\.(\d+)/.exec(text);
  if (found === null) throw new Error(`${program} is no PgBouncer: ${text}`);
  return found.slice(1).map(Number);
}

function isAtLeast([major = 0, minor = 0]: readonly number[], [x = 0, y = 0]: readonly number[]) {
  return major > x || (major === x && minor >= y);
}

/** Returns the users with their passwords, with which PgBouncer also logs in to Postgres. */
function users(access: DatabaseAccess): string {
  const passwords = {
    probatio_app: access.appPassword,
    probatio_service: access.servicePassword,
    probatio_owner: access.ownerPassword,
    postgres: access.adminPassword,
  };
  return Object.entries(passwords)
    .map(([name, password]) => `"${name}" "${password}"\n`)
    .join('');
}

interface Configured extends PgBouncerOptions {
  readonly access: DatabaseAccess;
  readonly directory: string;
  readonly tracksStatements: boolean;
}

function configuration(options: Configured): string {
  const { postgres, poolSize, access, directory, tracksStatements } = options;
  return `
    [databases]
    * = host=${postgres.host} port=${postgres.port}
    [pgbouncer]
    listen_addr = ${access.host}
    listen_port = ${access.port}
    unix_socket_dir =
    auth_type = scram-sha-256
    auth_file = ${join(directory, 'users')}
    admin_users = postgres
    pool_mode = transaction
    default_pool_size = ${poolSize}
    max_client_conn = 200
    ${tracksStatements ? 'max_prepared_statements = 200' : ''}
    server_login_retry = 1
    `.replace(/^ +/gm, '');
}

/** Runs a command of PgBouncer's console, which is a database of its own. */
async function onConsole(
  access: DatabaseAccess,
  command: string,
): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: databaseUrls(access, 'pgbouncer').admin });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(command)).rows;
  } finally {
    await client.end();
  }
}
