import { Client } from 'pg';
import { loadSecret } from '../files/secrets.ts';

/** Everything needed to log in to the embedded Postgres in any role. Plain JSON. */
export interface DatabaseAccess {
  readonly host: string;
  readonly port: number;
  /** The superuser `postgres`. */
  readonly adminPassword: string;
  /** `probatio_owner` owns databases and migrates. */
  readonly ownerPassword: string;
  /** `probatio_app` serves users, under row-level security. */
  readonly appPassword: string;
  /** `probatio_service` is for workers and maintenance. */
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

/** One URL a login for the database of that name. */
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

/** Runs `work` on a connection of the superuser and closes it. */
export async function asAdmin<T>(
  access: DatabaseAccess,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = new Client({ connectionString: databaseUrls(access, 'postgres').admin });
  // A connection that breaks while idle also fails the next query, which is where it is reported.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Makes the three logins, or gives them their passwords again. */
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

/** Makes a database that probatio_owner owns, unless it exists; a copy of `template` if given. */
export async function createDatabase(
  access: DatabaseAccess,
  name: string,
  template?: string,
): Promise<void> {
  await asAdmin(access, async (client) => {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
    if (found.rowCount) return;
    const from = template ? ` TEMPLATE ${client.escapeIdentifier(template)}` : '';
    await client.query(
      `CREATE DATABASE ${client.escapeIdentifier(name)} OWNER probatio_owner${from}`,
    );
  });
}

/** Throws the connections to it out. */
export async function dropDatabase(access: DatabaseAccess, name: string): Promise<void> {
  await asAdmin(access, async (client) => {
    await client.query(`DROP DATABASE IF EXISTS ${client.escapeIdentifier(name)} WITH (FORCE)`);
  });
}
