import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { createObjectStore } from '../../../app/storage/create-store.ts';
import { temporaryDirectory } from '../../support/processes/processes.ts';
import { runCli } from '../../support/processes/run-cli.ts';
import { createSql } from '../../support/vault/sql.ts';
import { listStore } from '../../uploads/cleanup/listed-store.ts';
import { set, startDoctorVault, textOf, troubles } from './doctor-vault.ts';

const names = [
  'settings',
  'database.app',
  'database.service',
  'database.schema',
  'database.isolation',
  'database.clock',
  'storage.write',
  'storage.read',
  'storage.room',
  'storage.versioning',
  'redis.write',
  'redis.eviction',
  'redis.persistence',
  'signer.socket',
  'signer.issuers',
  'signer.token',
  'signer.keys',
  'signer.clock',
  'mail.connection',
  'mail.tls',
  'mail.login',
  'mfa.client',
  'mfa.rights',
  'mfa.group',
  'mfa.passwords',
];

test('a vault that is well gets one ok for each check and the exit code 0', async (t) => {
  const doctor = await startDoctorVault(t);
  const { vault, mail } = doctor;
  const sql = createSql(vault);
  const countRows = () => sql('select count(*) from audit_entries');
  const before = await countRows();
  const examined = await doctor.examine();
  t.deepEqual(troubles(examined), [], examined.printed);
  t.deepEqual(
    examined.checks.map(({ name }) => name),
    names,
  );
  t.is(examined.code, 0);
  t.is(examined.status, 'ok');

  t.deepEqual(await countRows(), before, 'no entry is written');
  t.deepEqual(mail.deliveries, []);
  const { objects, uploads } = await listStore(await createObjectStore(vault.config.storage));
  t.false(objects.some((key) => key.startsWith('probes/')));
  t.deepEqual(uploads, []);
});

test('a command trusts the authorities that --env-file names, and refuses no PEM', async (t) => {
  const { settings } = await startDoctorVault(t);
  const { MAIL_CA_FILE = '', ...others } = settings;
  const directory = await temporaryDirectory(t);
  const file = path.join(directory, 'app.env');
  const examine = async (authorities: string) => {
    const variables = Object.entries({ ...others, NODE_EXTRA_CA_CERTS: authorities });
    await writeFile(file, variables.map(([name, value]) => `${name}="${value}"\n`).join(''));
    return runCli(['doctor'], {}, [`--env-file=${file}`]);
  };
  const trusted = await examine(MAIL_CA_FILE);
  t.deepEqual([trusted.code, trusted.stderr], [0, ''], trusted.stdout);
  const foreign = await examine('');
  t.is(foreign.code, 2);
  t.regex(foreign.stdout, /^fail {2}mail\.connection: no trusted TLS connection/m);
  for (const wrong of [file, path.join(directory, 'absent'), directory]) {
    const refused = await examine(wrong);
    t.deepEqual([refused.code, refused.stdout], [78, '']);
    t.regex(refused.stderr, /\n {2}NODE_EXTRA_CA_CERTS: names [^\n]*; [^\n]*\n$/);
  }
});

test('without --json a finding is one line, and warnings alone give the exit code 1', async (t) => {
  const { settings, redisUrl } = await startDoctorVault(t);
  await set(redisUrl, 'appendonly', 'no');
  const { code, stdout, stderr } = await runCli(['doctor'], settings);
  t.is(code, 1, stdout);
  t.is(stderr, '');
  const lines = stdout.trimEnd().split('\n');
  t.is(lines.length, names.length);
  for (const line of lines) t.regex(line, /^(ok {4}|warn {2}|fail {2})[a-z]+(\.[a-z]+)?: \S/);
  t.regex(stdout, /^warn {2}redis\.persistence: .*set appendonly yes$/m);
});

test('settings with problems are all listed, and give the exit code 2', async (t) => {
  const { code, stdout } = await runCli(['doctor'], {
    DATABASE_URL: 'mysql://app:jam-password@db/vault',
    PORT: '99999',
  });
  t.is(code, 2);
  for (const name of ['DATABASE_URL', 'DATABASE_SERVICE_URL', 'PORT', 'REDIS_URL']) {
    t.regex(stdout, new RegExp(`^fail {2}settings: ${name}: `, 'm'));
  }
  t.notRegex(stdout, /jam-password|99999/);
});

test('with everything away each dependency is reported, in a bounded time', async (t) => {
  const startedAt = performance.now();
  const secret = 'jam-password';
  const { code, stdout, stderr } = await runCli(['doctor', '--json'], {
    NODE_ENV: 'test',
    HTTP_PUBLIC_URL: 'http://vault.test',
    DATABASE_URL: `postgresql://app:${secret}@nothing.invalid/vault`,
    DATABASE_SERVICE_URL: `postgresql://service:${secret}@127.0.0.1:1/vault`,
    REDIS_URL: `redis://:${secret}@127.0.0.1:1`,
    STORAGE_DRIVER: 's3',
    STORAGE_ENDPOINT: 'http://127.0.0.1:1',
    STORAGE_BUCKET: 'bucket',
    STORAGE_ACCESS_KEY_ID: 'id',
    STORAGE_SECRET_ACCESS_KEY: secret,
    SIGNER_SOCKET_PATH: '/nowhere/signer.sock',
    MAIL_URL: `smtp://user:${secret}@nothing.invalid`,
  });
  t.true(performance.now() - startedAt < 40_000);
  t.is(code, 2);
  const examined = { ...(JSON.parse(stdout) as object), code, printed: stdout } as Parameters<
    typeof textOf
  >[0];
  t.regex(textOf(examined, 'database.app'), /DATABASE_URL does not resolve/);
  t.regex(textOf(examined, 'database.service'), /nothing listens .* DATABASE_SERVICE_URL/);
  t.regex(textOf(examined, 'database.schema'), /not examined, since database\.service failed/);
  t.regex(textOf(examined, 'redis.write'), /nothing listens .* REDIS_URL/);
  t.regex(textOf(examined, 'storage.write'), /nothing listens .* STORAGE_ENDPOINT/);
  t.regex(textOf(examined, 'signer.socket'), /no such socket/);
  t.regex(textOf(examined, 'mail.connection'), /MAIL_URL does not resolve/);
  t.notRegex(stdout + stderr, new RegExp(secret));
});
