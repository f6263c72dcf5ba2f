import { Client, DatabaseError } from 'pg';
import { loadSecret } from '../files/secrets.ts';

/** Everything needed to log in to the embedded Postgres as any role, as plain JSON. */
export interface DatabaseAccess {
  readonly host: string;
  readonly port: number;
  /** Password of the superuser `postgres`. */
  readonly adminPassword: string;
  /** Password of `probatio_owner`, which owns databases and migrates them. */
  readonly ownerPassword: string;
  /** Password of `probatio_app`, which serves users under row-level security. */
  readonly appPassword: string;
  /** Password of `probatio_service`, which workers and maintenance use. */
  readonly servicePassword: string;
}

type DatabasePasswords = Omit<DatabaseAccess, 'host' | 'port'>;

export interface DatabaseUrls {
  readonly admin: string;
  readonly owner: string;
  readonly app: string;
  readonly service: string;
}

export async function loadDatabasePasswords(directory: string): Promise<DatabasePasswords> {
  const load = async (role: string) => (await loadSecret(directory, `postgres-${role}`)).value;
  return {
    adminPassword: await load('admin'),
    ownerPassword: await load('owner'),
    appPassword: await load('app'),
    servicePassword: await load('service'),
  };
}

/** Returns the URL of the database `database` for each of the four logins. */
export function databaseUrls(access: DatabaseAccess, database: string): DatabaseUrls {
  const url = (user: string, password: string) =>
    `postgresql://${user}:${password}@${access.host}:${access.port}/${database}`;
  return {
    admin: url('postgres', access.adminPassword),
    owner: url('probatio_owner', access.ownerPassword),
    app: url('probatio_app', access.appPassword),
    service: url('probatio_service', access.servicePassword),
  };
}

/**
 * Runs `work` on a connection of the superuser to `database` and closes the connection afterwards.
 */
export async function asAdmin<T>(
  access: DatabaseAccess,
  work: (client: Client) => Promise<T>,
  database = 'postgres',
): Promise<T> {
  const client = new Client({ connectionString: databaseUrls(access, database).admin });
  // The event can be ignored: the next query on a broken connection fails and throws the error.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * Creates the logins probatio_owner, probatio_app and probatio_service, and resets the passwords of
 * those that already exist.
 */
export async function createLogins(access: DatabaseAccess): Promise<void> {
  const logins = {
    probatio_owner: access.ownerPassword,
    probatio_app: access.appPassword,
    probatio_service: access.servicePassword,
  };
  await asAdmin(access, async (client) => {
    const { rows } = await client.query<{ readonly rolname: string }>(
      'SELECT rolname FROM pg_roles',
    );
    const existing = new Set(rows.map((row) => row.rolname));
    for (const [name, password] of Object.entries(logins)) {
      const verb = existing.has(name) ? 'ALTER' : 'CREATE';
      await client.query(
        `${verb} ROLE ${name} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE
         PASSWORD ${client.escapeLiteral(password)}`,
      );
    }
  });
}

/**
 * Creates the database `name`, owned by probatio_owner, unless it exists. If `template` is given,
 * the new database is a copy of that database.
 */
export async function createDatabase(
  access: DatabaseAccess,
  name: string,
  template?: string,
): Promise<void> {
  await asAdmin(access, async (client) => {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
    if (found.rows.length > 0) return;
    const from = template === undefined ? '' : ` TEMPLATE ${client.escapeIdentifier(template)}`;
    const created = `CREATE DATABASE ${client.escapeIdentifier(name)}`;
    await untilUnused(() => client.query(`${created} OWNER probatio_owner${from}`));
  });
  await restrictDatabase(access, name, ['probatio_app', 'probatio_service']);
}

/** The number of attempts to copy a template; Postgres waits 5 s in each. */
const copyAttempts = 6;

/**
 * Repeats an attempt to copy a database while others use it. On a machine without a free processor,
 * workers of autovacuum do not leave it within the 5 s that Postgres gives them.
 */
async function untilUnused(copy: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await copy();
      return;
    } catch (error) {
      const isInUse = error instanceof DatabaseError && error.code === '55006';
      if (!isInUse || attempt === copyAttempts) throw error;
    }
  }
}

/**
 * Lets only the given logins connect to a database, beside its owner, and lets them create neither
 * temporary tables nor large objects.
 */
export async function restrictDatabase(
  access: DatabaseAccess,
  name: string,
  logins: readonly string[],
): Promise<void> {
  await asAdmin(
    access,
    async (client) => {
      const database = client.escapeIdentifier(name);
      await client.query(
        `REVOKE ALL ON DATABASE ${database} FROM PUBLIC;
         GRANT CONNECT ON DATABASE ${database} TO ${logins.join(', ')};
         REVOKE EXECUTE ON FUNCTION lo_creat, lo_create, lo_from_bytea FROM PUBLIC`,
      );
    },
    name,
  );
}

/** Drops a database, if it exists, and closes the connections to it. */
export async function dropDatabase(access: DatabaseAccess, name: string): Promise<void> {
  await asAdmin(access, async (client) => {
    await client.query(`DROP DATABASE IF EXISTS ${client.escapeIdentifier(name)} WITH (FORCE)`);
  });
}
