import { randomBytes } from 'node:crypto';
import { createApiKey } from '../../app/internal-api/api-key-format.ts';

export interface Secret {
  readonly apiVersion: 'v1';
  readonly kind: 'Secret';
  readonly metadata: { readonly name: string };
  readonly stringData: Readonly<Record<string, string>>;
}

const randomText = () => randomBytes(32).toString('base64url');

/** Makes the Secrets of values.yaml and backends.yaml, with new random values. */
export function makeSecrets(): readonly Secret[] {
  const passwords = { owner: randomText(), app: randomText(), service: randomText() };
  const url = (login: keyof typeof passwords) =>
    `postgresql://probatio_${login}:${passwords[login]}@postgres:5432/probatio`;
  const redisPassword = randomText();
  const maintenance = createApiKey({ name: 'maintenance', admin: true });
  const operator = createApiKey({ name: 'operator', admin: true });
  return [
    secret('postgres-server', { password: randomText(), 'logins.sql': loginsOf(passwords) }),
    secret('postgres-owner', { 'owner-url': url('owner') }),
    secret('postgres', { url: url('app'), 'service-url': url('service') }),
    secret('redis', {
      url: `redis://:${redisPassword}@redis:6379`,
      'valkey.conf': `requirepass ${redisPassword}\nsave ""\nappendonly no\ndir /data\n`,
    }),
    secret('s3', { 'access-key-id': 'development', 'secret-access-key': randomText() }),
    secret('smtp', { url: 'smtp://mail:1025' }),
    secret('pin', { pin: randomText(), 'so-pin': randomText() }),
    secret('internal-api-keys', {
      'keys.json': JSON.stringify([maintenance.kept, operator.kept]),
    }),
    secret('maintenance-api-key', { 'api-key': maintenance.key }),
    secret('operator-api-key', { 'api-key': operator.key }),
  ];
}

function secret(name: string, stringData: Secret['stringData']): Secret {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData };
}

/** Returns the SQL by which a new Postgres gets the logins and the database. */
function loginsOf(passwords: Readonly<Record<string, string>>): string {
  const roles = Object.entries(passwords).map(
    ([name, password]) =>
      `create role probatio_${name} login nosuperuser nobypassrls nocreatedb nocreaterole
       password '${password}';`,
  );
  return [
    ...roles,
    `create database probatio owner probatio_owner template template0 encoding 'UTF8'
       locale_provider builtin builtin_locale 'C.UTF-8' locale 'C';`,
    'revoke all on database probatio from public;',
    'grant connect on database probatio to probatio_app, probatio_service;',
    String.raw`\connect probatio`,
    'revoke execute on function lo_creat, lo_create, lo_from_bytea from public;',
    '',
  ].join('\n');
}
