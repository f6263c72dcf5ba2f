import { readFile } from 'node:fs/promises';
import { parseEnv } from 'node:util';
import test from 'ava';
import { projectFile } from '../../app/dev/files/project.ts';
import { loadConfig } from '../../app/config/config.ts';
import { ConfigError } from '../../signer/protocol/process/config-error.ts';

const minimal = {
  HOST: '0.0.0.0',
  PORT: '8080',
  HTTP_PUBLIC_URL: 'https://vault.example',
  HTTP_INTERNAL_HOST: '127.0.0.1',
  HTTP_INTERNAL_PORT: '8081',
  MAIL_FROM: 'no-reply@vault.example',
  DATABASE_URL: 'postgresql://app:secret-a@db/vault',
  DATABASE_SERVICE_URL: 'postgresql://service:secret-b@db/vault',
  REDIS_URL: 'redis://:secret-c@cache',
  STORAGE_DIRECTORY: '/objects',
  SIGNER_SOCKET_PATH: '/run/signer.sock',
  MAIL_URL: 'smtps://vault:secret-d@mail.example',
};

/** Returns the lines of the error after the first. */
function problemsOf(env: NodeJS.ProcessEnv): string[] {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError)
      return error.message
        .split('\n')
        .slice(1)
        .map((line) => line.trim());
    throw error;
  }
  return [];
}

const names = (problems: readonly string[]) =>
  problems.map((line) => line.replace(/:.*/, '')).sort();

test('the required settings suffice, and every default suits production', (t) => {
  const config = loadConfig(minimal);
  t.is(config.environment, 'production');
  t.deepEqual(config.http.trustedProxies, []);
  t.is(config.auth.issuer, config.http.publicUrl);
  t.true(Object.isFrozen(config));
});

test('the example of the README starts', async (t) => {
  const readme = await readFile(projectFile('README.md'), 'utf8');
  const [, example = ''] = /These are the least:\n\n```sh\n(.*?)```/s.exec(readme) ?? [];
  t.is(loadConfig(parseEnv(example)).http.publicUrl, 'https://vault.example');
});

test('every missing setting is named in one error', (t) => {
  t.deepEqual(names(problemsOf({})), Object.keys(minimal).sort());
});

test('an empty value counts as missing', (t) => {
  const empty = Object.fromEntries(Object.keys(minimal).map((name) => [name, '']));
  t.deepEqual(problemsOf(empty).sort(), problemsOf({}).sort());
});

test('every invalid setting is named in one error, which repeats no value', (t) => {
  const wrong = {
    NODE_ENV: 'jam-staging',
    PORT: 'jam-port',
    LOG_LEVEL: 'jam-loud',
    HTTP_PUBLIC_URL: 'jam://url',
    HTTP_TRUSTED_PROXIES: '10.0.0.0/8,jam-proxy',
    HTTP_DRAIN_SECONDS: '-25',
    DATABASE_URL: 'mysql://app:jam-password@db/vault',
    DATABASE_SERVICE_URL: 'jam-password@db',
    DATABASE_APP_ROLE: 'jam role',
    DATABASE_POOL_SIZE: '1.5',
    REDIS_URL: 'http://:jam-password@cache',
    STORAGE_DRIVER: 'jam-tape',
    STORAGE_FORCE_PATH_STYLE: 'jam-yes',
    UPLOADS_SESSION_TTL_SECONDS: '0',
    AUDIT_BACKLOG_LIMIT: 'jam-many',
  };
  const problems = problemsOf({ ...minimal, ...wrong });
  t.deepEqual([...new Set(names(problems))], Object.keys(wrong).sort());
  t.false(
    problems.some((line) => /jam|-25/.test(line)),
    problems.join('\n'),
  );
});

test('a setting that is no number is reported as such rather than as missing', (t) => {
  for (const [name, value] of [
    ['PORT', '80a'],
    ['DATABASE_POOL_SIZE', '1.5'],
    ['AUDIT_BACKLOG_LIMIT', 'jam'],
  ] as const) {
    const [problem = ''] = problemsOf({ ...minimal, [name]: value });
    t.regex(problem, new RegExp(`^${name}: is not valid; set it to: .*\\d`));
  }
});

test('a duration that no timer or date can hold is refused', (t) => {
  for (const name of ['HTTP_DRAIN_SECONDS', 'UPLOADS_SESSION_TTL_SECONDS']) {
    t.deepEqual(names(problemsOf({ ...minimal, [name]: '99999999999999' })), [name]);
  }
});

test('a database is set by its URL, no part of which is repeated in an error', (t) => {
  const urls = [
    'postgresql://app:jam@db',
    'postgresql://app:jam@db/',
    'postgresql://app:jam%zz@db/v',
  ];
  for (const url of urls) {
    const problems = problemsOf({ ...minimal, DATABASE_URL: url });
    t.deepEqual(names(problems), ['DATABASE_URL'], url);
    t.notRegex(problems.join(), /jam/);
  }
});

test('incomplete credentials of an object store are refused', (t) => {
  const s3 = { ...minimal, STORAGE_DRIVER: 's3', STORAGE_BUCKET: 'vault' };
  const id = { STORAGE_ACCESS_KEY_ID: 'jam' };
  const secret = { STORAGE_SECRET_ACCESS_KEY: 'jam' };
  t.deepEqual(names(problemsOf({ ...s3, ...id })), ['STORAGE_SECRET_ACCESS_KEY']);
  t.deepEqual(names(problemsOf({ ...s3, ...secret })), ['STORAGE_ACCESS_KEY_ID']);
  t.deepEqual(problemsOf({ ...s3, ...id, ...secret }), []);
});

test('each object store requires its own settings, reported with every other problem', (t) => {
  const { STORAGE_DIRECTORY: _directory, MAIL_URL: _mail, ...rest } = minimal;
  t.deepEqual(names(problemsOf(rest)), ['MAIL_URL', 'STORAGE_DIRECTORY']);
  t.deepEqual(names(problemsOf({ ...rest, STORAGE_DRIVER: 's3' })), ['MAIL_URL', 'STORAGE_BUCKET']);
  t.deepEqual(problemsOf({ ...minimal, STORAGE_DRIVER: 's3', STORAGE_BUCKET: 'vault' }), []);
});

test('mail goes to a server or into a directory, not to both', (t) => {
  const { MAIL_URL: _mail, ...rest } = minimal;
  t.like(loadConfig(minimal).mail, { driver: 'smtp' });
  t.like(loadConfig({ ...rest, MAIL_DIRECTORY: '/mail' }).mail, { driver: 'file' });
  t.deepEqual(names(problemsOf({ ...minimal, MAIL_DIRECTORY: '/mail' })), ['MAIL_URL']);
  t.notRegex(problemsOf({ ...rest, MAIL_URL: 'http://vault:jam@mail' }).join(), /jam/);
});

test('a limit is a rate or off', (t) => {
  const { limits } = loadConfig({ ...minimal, LIMITS_REGISTER_ADDRESS: '7/2m' });
  t.deepEqual(limits['register-address'], { count: 7, seconds: 120 });
  t.deepEqual(limits['register-email'], { count: 3, seconds: 3_600 });
  const off = loadConfig({ ...minimal, LIMITS_PROOF_ADDRESS: 'off' });
  t.is(off.limits['proof-address'], undefined);
  t.deepEqual(names(problemsOf({ ...minimal, LIMITS_PROOF_ADDRESS: '0/1m' })), [
    'LIMITS_PROOF_ADDRESS',
  ]);
});

test('production takes a public URL without TLS for a loopback name', (t) => {
  for (const url of ['http://localhost:8080', 'http://127.0.0.1', 'http://[::1]:8080']) {
    t.is(loadConfig({ ...minimal, HTTP_PUBLIC_URL: url }).auth.issuer, url);
  }
});

test('numbers, lists and URLs are parsed', (t) => {
  const config = loadConfig({
    ...minimal,
    PORT: '0',
    HTTP_PUBLIC_URL: 'https://vault.example/',
    HTTP_TRUSTED_PROXIES: ' 10.0.0.0/8, 2001:db8::/32 ,',
    STORAGE_FORCE_PATH_STYLE: 'true',
    STORAGE_DRIVER: 's3',
    STORAGE_BUCKET: 'vault',
  });
  t.is(config.http.port, 0);
  t.is(config.auth.issuer, 'https://vault.example');
  t.deepEqual(config.http.trustedProxies, ['10.0.0.0/8', '2001:db8::/32']);
  t.like(config.storage, { driver: 's3', forcePathStyle: true });
});
