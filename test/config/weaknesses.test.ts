import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { loadConfig } from '../../app/config/config.ts';
import { toJsonSchema } from '../../app/config/definition/setting.ts';
import { settingGroups } from '../../app/config/environment.ts';
import { listWeaknesses } from '../../app/config/weaknesses.ts';
import { temporaryDirectory } from '../support/processes/processes.ts';
import { withoutLimits } from '../support/vault/without-limits.ts';
import { rightApp } from './wrong/app-cases.ts';

const strong = {
  ...rightApp,
  DATABASE_URL: 'postgresql://app:jam@db/vault?sslmode=verify-full',
  DATABASE_SERVICE_URL: 'postgresql://service:jam@127.0.0.1/vault',
  KEYS_RAW_FORM: 'refuse',
  AUTH_REAUTH_PASSWORD: 'refuse',
  AUTH_UNKNOWN_USER: 'decoy',
};

const issuer = {
  issuer: 'http://issuer.example',
  jwksUri: 'http://issuer.example/jwks',
  allowInsecureHttp: true,
  audience: 'probatio',
  grants: { roles: [], scopes: [], tenants: [] },
};

const namesOf = (lines: readonly string[]) => lines.map((line) => line.replace(/:.*/, '')).sort();

test('recommended settings are not listed', (t) => {
  t.deepEqual(listWeaknesses(loadConfig(strong), {}), []);
});

test('the defaults that are weaker than recommended are listed', (t) => {
  const { KEYS_RAW_FORM: _raw, AUTH_REAUTH_PASSWORD: _password, ...rest } = strong;
  const { AUTH_UNKNOWN_USER: _user, ...defaults } = rest;
  t.deepEqual(namesOf(listWeaknesses(loadConfig(defaults), {})), [
    'AUTH_REAUTH_PASSWORD',
    'AUTH_UNKNOWN_USER',
    'KEYS_RAW_FORM',
  ]);
});

test('connections without TLS to other machines are listed, and those to this one are not', (t) => {
  const url = (host: string, mode = '') => `postgresql://app:jam@${host}/vault${mode}`;
  const weak = (DATABASE_URL: string, env = {}) =>
    listWeaknesses(loadConfig({ ...strong, DATABASE_URL }), env);
  t.deepEqual(weak(url('db')), ['DATABASE_URL: no TLS']);
  t.deepEqual(weak(url('db', '?sslmode=disable')), ['DATABASE_URL: no TLS']);
  t.deepEqual(weak(url('db', '?sslmode=no-verify')), [
    'DATABASE_URL: the certificate of the server is not verified',
  ]);
  t.deepEqual(weak(url('db'), { PGSSLMODE: 'verify-full' }), []);
  for (const host of ['localhost', '127.0.0.1', '[::1]', '%2Frun%2Fpostgresql']) {
    t.deepEqual(weak(url(host)), [], host);
  }
  t.deepEqual(weak(url('localhost', '?host=/run/postgresql')), []);
  t.deepEqual(weak(url('localhost', '?host=db')), ['DATABASE_URL: no TLS']);
});

test('every setting that is said to weaken security is listed where it does', async (t) => {
  const directory = await temporaryDirectory(t);
  const issuers = path.join(directory, 'issuers.json');
  await writeFile(issuers, JSON.stringify([issuer]));
  const database = path.join(directory, 'database');
  await writeFile(database, 'postgresql://app:jam@db/vault', { mode: 0o644 });
  const { DATABASE_URL: _url, ...rest } = strong;
  const weak = {
    ...rest,
    ...withoutLimits,
    NODE_ENV: 'development',
    KEYS_RAW_FORM: 'allow',
    KEYS_PUBLISH_SECONDS: '0',
    KEYS_ALLOW_ANONYMOUS_IN_DEVELOPMENT: 'true',
    AUTH_REAUTH_PASSWORD: 'allow',
    AUTH_UNKNOWN_USER: 'reveal',
    AUTH_ISSUERS_FILE: issuers,
    HTTP_PUBLIC_URL: 'http://vault.example',
    HTTP_CORS_ORIGINS: 'http://page.example',
    HTTP_TRUSTED_PROXIES: '0.0.0.0/0',
    HTTP_INTERNAL_ROUTES: 'both',
    DATABASE_URL_FILE: database,
    DATABASE_SERVICE_URL: 'postgresql://service:jam@db/vault',
    REDIS_URL: 'redis://cache',
    STORAGE_DRIVER: 's3',
    STORAGE_BUCKET: 'vault',
    STORAGE_ENDPOINT: 'http://s3.example',
    STORAGE_CHECKSUMS: 'when_required',
    MAIL_URL: 'smtp://vault:jam@mail.example?requireTls=false',
    MAIL_VALIDATE_URL: 'http://page.example',
  };
  const listed = listWeaknesses(loadConfig(weak), { NODE_TLS_REJECT_UNAUTHORIZED: '0' });
  t.true(listed.includes('REDIS_URL: no password, no TLS'));
  t.true(listed.includes('DATABASE_URL_FILE: every user may read the file'));
  t.true(listed.includes('NODE_TLS_REJECT_UNAUTHORIZED: certificates are not verified'));
  t.notRegex(listed.join('\n'), /jam|example/);
  const names = namesOf(listed);
  for (const group of Object.values(settingGroups)) {
    const { description: introduction = '', properties = {} } = toJsonSchema(group);
    for (const [name, property] of Object.entries(properties)) {
      const { description = '' } = property as { readonly description?: string };
      if (!/weakens security/.test(`${introduction} ${description}`)) continue;
      t.true(names.includes(name), name);
    }
  }
});
