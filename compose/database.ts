/**
 * Makes a database of docker-compose.yml and its logins, unless they exist: those of the vault, or
 * with the argument `keycloak` those of Keycloak.
 */
import { readFile } from 'node:fs/promises';
import { Client } from 'pg';

const directory = '/run/secrets/database';

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}

/** Makes the logins that are missing, each with the verifier of its password. */
async function createLogins(client: Client, logins: Readonly<Record<string, string>>) {
  for (const [name, verifier] of Object.entries(logins)) {
    const found = await client.query('select from pg_roles where rolname = $1', [name]);
    if (found.rowCount !== 0) continue;
    await client.query(
      `create role ${client.escapeIdentifier(name)} login nosuperuser nobypassrls nocreatedb
       nocreaterole password ${client.escapeLiteral(verifier)}`,
    );
    console.log(`Made the login ${name}.`);
  }
}

async function createDatabase(client: Client, name: string, owner: string): Promise<void> {
  const found = await client.query('select from pg_database where datname = $1', [name]);
  if (found.rowCount !== 0) return;
  await client.query(
    `create database ${client.escapeIdentifier(name)} owner ${client.escapeIdentifier(owner)}
     template template0 encoding 'UTF8'
     locale_provider builtin builtin_locale 'C.UTF-8' locale 'C'`,
  );
  console.log(`Made the database ${name}.`);
}

/** Lets the logins of the vault connect, and create nothing. */
async function restrictVault(adminUrl: string): Promise<void> {
  const client = await connect(adminUrl.replace(/postgres$/, 'probatio'));
  await client.query(
    `revoke all on database probatio from public;
     grant connect on database probatio to probatio_app, probatio_service;
     revoke execute on function lo_creat, lo_create, lo_from_bytea from public`,
  );
  await client.end();
}

const isKeycloak = process.argv[2] === 'keycloak';
const adminUrl = await readFile(`${directory}/admin-url`, 'utf8');
const file = isKeycloak ? 'keycloak-logins.json' : 'logins.json';
const logins = JSON.parse(await readFile(`${directory}/${file}`, 'utf8')) as Readonly<
  Record<string, string>
>;
const server = await connect(adminUrl);
await createLogins(server, logins);
if (isKeycloak) await createDatabase(server, 'keycloak', 'keycloak');
else await createDatabase(server, 'probatio', 'probatio_owner');
await server.end();
if (!isKeycloak) await restrictVault(adminUrl);
