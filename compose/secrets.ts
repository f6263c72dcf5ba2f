/**
 * Makes the secrets of docker-compose.yml that are missing, and changes none that exists. With
 * `--check` it ends with 1 if they were not made.
 *
 * All random values are in one file, which is written first. The files of the services are made
 * from it, those of the app last, so that the next run completes one that was killed.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createApiKey, hashApiKey } from '../app/internal-api/api-key-format.ts';
import { createScramVerifier } from './scram-verifier.ts';

const directory = '/secrets';
const kept = join(directory, 'all/secrets.json');
/** The file that is written last. */
const last = 'app/database-url';

/** The users as which the services run. */
const users = { app: 10_001, signer: 10_002, keycloak: 1_000, server: 999, root: 0 } as const;

const randomText = () => randomBytes(32).toString('base64url');
const apiKeyName = { name: 'maintenance', admin: true };

/** Makes each of the random values. */
const makers = {
  adminPassword: randomText,
  ownerPassword: randomText,
  appPassword: randomText,
  servicePassword: randomText,
  redisPassword: randomText,
  s3AccessKeyId: () => `probatio${randomBytes(6).toString('hex')}`,
  s3SecretAccessKey: randomText,
  pin: randomText,
  soPin: randomText,
  apiKey: () => createApiKey(apiKeyName).key,
  keycloakDatabasePassword: randomText,
  keycloakAdminPassword: randomText,
  mfaClientSecret: randomText,
} as const;

type Secrets = Readonly<Record<keyof typeof makers, string>>;

/** Reads the values that were made, and makes those that are missing. */
async function loadSecrets(): Promise<Secrets> {
  const found = existsSync(kept)
    ? (JSON.parse(await readFile(kept, 'utf8')) as Partial<Secrets>)
    : {};
  const made = Object.entries(makers).map(([name, make]) => [name, make()] as const);
  const secrets = { ...(Object.fromEntries(made) as Secrets), ...found };
  if (Object.keys(secrets).length > Object.keys(found).length)
    await write(kept, { user: users.root, text: JSON.stringify(secrets, undefined, 2) });
  return secrets;
}

interface SecretFile {
  /** The user who may read it. */
  readonly user: number;
  readonly text: string;
}

/** Returns the files of all services by their paths. */
function filesOf(secrets: Secrets): Readonly<Record<string, SecretFile>> {
  const database = (user: string, password: string, name = 'probatio') =>
    `postgresql://${user}:${password}@postgres:5432/${name}`;
  const logins = {
    probatio_owner: createScramVerifier(secrets.ownerPassword),
    probatio_app: createScramVerifier(secrets.appPassword),
    probatio_service: createScramVerifier(secrets.servicePassword),
  };
  const keys = [{ ...apiKeyName, sha256: hashApiKey(secrets.apiKey) }];
  const credentials = [
    `ROOT_ACCESS_KEY='${secrets.s3AccessKeyId}'`,
    `ROOT_SECRET_KEY='${secrets.s3SecretAccessKey}'`,
  ];
  const keycloak = [
    `KC_DB_PASSWORD='${secrets.keycloakDatabasePassword}'`,
    `KC_BOOTSTRAP_ADMIN_PASSWORD='${secrets.keycloakAdminPassword}'`,
    `MFA_CLIENT_SECRET='${secrets.mfaClientSecret}'`,
  ];
  const { app, signer, server, root } = users;
  return {
    'postgres/password': { user: server, text: secrets.adminPassword },
    'database/admin-url': {
      user: app,
      text: database('postgres', secrets.adminPassword, 'postgres'),
    },
    'database/logins.json': { user: app, text: JSON.stringify(logins) },
    'database/keycloak-logins.json': {
      user: app,
      text: JSON.stringify({ keycloak: createScramVerifier(secrets.keycloakDatabasePassword) }),
    },
    'keycloak/environment': { user: users.keycloak, text: `${keycloak.join('\n')}\n` },
    'owner/url': { user: app, text: database('probatio_owner', secrets.ownerPassword) },
    'valkey/valkey.conf': {
      user: server,
      text: `requirepass ${secrets.redisPassword}\nsave ""\nappendonly no\ndir /data\n`,
    },
    's3/credentials': { user: root, text: `${credentials.join('\n')}\n` },
    'signer/pin': { user: signer, text: secrets.pin },
    'token/so-pin': { user: signer, text: secrets.soPin },
    'maintenance/api-key': { user: app, text: secrets.apiKey },
    'app/internal-keys.json': { user: app, text: JSON.stringify(keys) },
    'app/mfa-client-secret': { user: app, text: secrets.mfaClientSecret },
    'app/redis-url': { user: app, text: `redis://:${secrets.redisPassword}@valkey:6379` },
    'app/storage-access-key-id': { user: app, text: secrets.s3AccessKeyId },
    'app/storage-secret-access-key': { user: app, text: secrets.s3SecretAccessKey },
    'app/database-service-url': {
      user: app,
      text: database('probatio_service', secrets.servicePassword),
    },
    [last]: { user: app, text: database('probatio_app', secrets.appPassword) },
  };
}

/** Writes a file that has its name only once it is whole, and that its user alone may read. */
async function write(path: string, { user, text }: SecretFile): Promise<void> {
  const draft = `${path}.new`;
  await rm(draft, { force: true });
  await writeFile(draft, text, { mode: 0o600 });
  await chmod(draft, 0o400);
  await chown(draft, user, user === users.root ? user : 10_000);
  await rename(draft, path);
}

async function makeMissing(): Promise<void> {
  const files = Object.entries(filesOf(await loadSecrets())).filter(
    ([name]) => !existsSync(join(directory, name)),
  );
  for (const [name, file] of files) await write(join(directory, name), file);
  console.log(files.length === 0 ? 'No secret is missing.' : `Made ${files.length} secrets.`);
}

if (!process.argv.includes('--check')) await makeMissing();
else if (!existsSync(join(directory, last))) {
  console.error('There are no secrets yet. Make them once: docker compose run --rm secrets');
  process.exitCode = 1;
}
