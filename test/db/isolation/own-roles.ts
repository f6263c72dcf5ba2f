import { randomUUID } from 'node:crypto';
import { migrate } from '../../../app/db/migrating/migrate.ts';
import { asAdmin, dropDatabase, restrictDatabase } from '../../../app/dev/postgres/database.ts';
import { testStack } from '../../support/vault/stack.ts';

const password = 'secret';

/** A migrated database whose roles have names of their own, so that a test may alter them. */
export interface OwnRoles extends AsyncDisposable {
  readonly database: string;
  readonly owner: string;
  readonly app: string;
  readonly service: string;
  /** Returns the URL of a login, by default for the database of this vault. */
  url(login: string, database?: string): string;
  /** Runs statements as the superuser in the database of this vault. */
  sql(...statements: readonly string[]): Promise<Record<string, unknown>[]>;
  /** Creates a further login, which is dropped in the end. */
  createLogin(name: string): Promise<string>;
  /** Creates a further database of the owner, which is dropped in the end. */
  createDatabase(): Promise<string>;
}

export async function createOwnRoles(): Promise<OwnRoles> {
  const { postgres } = testStack();
  const prefix = `own_${randomUUID().slice(0, 8)}`;
  const database = `${prefix}_db`;
  const [owner, app, service] = ['owner', 'app', 'service'].map((name) => `${prefix}_${name}`) as [
    string,
    string,
    string,
  ];
  const databases: string[] = [];
  const logins: string[] = [];
  const sql: OwnRoles['sql'] = (...statements) =>
    asAdmin(
      postgres,
      async (client) => {
        let rows: Record<string, unknown>[] = [];
        for (const statement of statements) ({ rows } = await client.query(statement));
        return rows;
      },
      databases.includes(database) ? database : 'postgres',
    );
  const url: OwnRoles['url'] = (login, name = database) =>
    login === 'postgres'
      ? `postgresql://postgres:${postgres.adminPassword}@${postgres.host}:${postgres.port}/${name}`
      : `postgresql://${login}:${password}@${postgres.host}:${postgres.port}/${name}`;

  async function createLogin(name: string): Promise<string> {
    await sql(`create role ${name} login password '${password}'`);
    logins.push(name);
    return name;
  }

  async function createDatabase(name: string): Promise<string> {
    await sql(`create database ${name} owner ${owner}`);
    await restrictDatabase(postgres, name, [app, service]);
    databases.push(name);
    return name;
  }

  for (const login of [owner, app, service]) await createLogin(login);
  await createDatabase(database);
  await migrate(url(owner), { app, service });
  return {
    database,
    owner,
    app,
    service,
    url,
    sql,
    createLogin: (name) => createLogin(`${prefix}_${name}`),
    createDatabase: () => createDatabase(`${prefix}_db${databases.length}`),
    async [Symbol.asyncDispose]() {
      for (const name of databases.splice(0)) await dropDatabase(postgres, name);
      for (const login of logins) await sql(`drop role ${login}`);
    },
  };
}
