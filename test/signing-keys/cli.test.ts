import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { runCli } from '../support/processes/run-cli.ts';
import { startKeysVault, type KeysVault } from './keys-vault.ts';

interface Context extends KeysVault {
  readonly directory: string;
  readonly keyFile: string;
}

const test = anyTest as TestFn<Context>;

test.before(async (t) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-keys-cli-'));
  const keys = await startKeysVault();
  const keyFile = path.join(directory, 'key');
  await writeFile(keyFile, `${keys.internalKey}\n`);
  t.context = { ...keys, directory, keyFile };
});
test.after.always(async (t) => {
  await t.context.stop();
  await rm(t.context.directory, { recursive: true });
});

const run = ({ vault, keyFile }: Context, ...args: string[]) =>
  runCli(['keys', ...args, '--url', vault.baseUrl, '--key-file', keyFile]);

test.serial('a key is created, activated and listed', async (t) => {
  const first = await t.context.activeKey('audit');
  const created = await run(t.context, 'create', 'audit');
  t.deepEqual([created.code, created.stderr], [0, '']);
  const keyId = created.stdout.slice(0, 32);
  t.true(created.stdout.startsWith(`${keyId}  audit-2  CREATED\n  fingerprint  ${keyId}`));

  const { record, registeredAt } = await t.context.create('token');
  const activated = await run(t.context, 'activate', keyId);
  t.deepEqual([activated.code, activated.stderr], [0, '']);
  const { stdout } = await run(t.context, 'list');
  const active = await t.context.activeKey('audit');
  t.is(active.keyId, keyId);
  t.true(stdout.includes(activated.stdout));
  t.is(
    activated.stdout,
    [
      `${keyId}  audit-2  ACTIVE`,
      `  fingerprint  ${active.fingerprint}`,
      `  registered   ${active.registeredAt}, signed by ${first.keyId}`,
      `  active from  ${active.activatedAt}`,
      '',
    ].join('\n'),
  );
  t.true(stdout.includes(`  registered   ${registeredAt}, signed by ${record?.hsmKeyId}\n`));
  t.true(stdout.includes(`  retired      ${active.activatedAt}\n`));
  t.true(stdout.includes(', signed by itself\n'));
});

test.serial(
  'a compromised key is listed with its instant, and its successor is active',
  async (t) => {
    const { keyId } = await t.context.activeKey('audit');
    const { keyId: successor } = await t.context.create('audit');
    const since = '2026-01-01T00:00:00Z';
    const compromise = ['compromise', keyId, '--since', since, '--successor', successor];
    const { code, stdout, stderr } = await run(t.context, ...compromise);
    t.deepEqual([code, stderr], [0, '']);
    t.regex(stdout, new RegExp(`^${keyId}  audit-\\d+  COMPROMISED\n`));
    t.true(stdout.includes('  compromised  since 2026-01-01T00:00:00.000Z\n'));
    t.is((await t.context.activeKey('audit')).keyId, successor);
  },
);

test.serial('an unneeded key is retired', async (t) => {
  const { keyId } = await t.context.create('token');
  const { code, stdout } = await run(t.context, 'retire', keyId);
  t.is(code, 0);
  t.regex(stdout, new RegExp(`^${keyId}  token-\\d+  RETIRED\n`));
});

test.serial('with --json the app’s response is printed unchanged', async (t) => {
  const { code, stdout } = await run(t.context, 'list', '--json');
  t.is(code, 0);
  t.deepEqual(JSON.parse(stdout), { keys: await t.context.list() });
});

test.serial('a refused command exits with 1 and gives the reason in one line', async (t) => {
  const { vault, internalKey } = t.context;
  const { keyId } = await t.context.activeKey('token');
  const spare = await t.context.create('token');
  const wrongFile = path.join(t.context.directory, 'wrong');
  await writeFile(wrongFile, 'pik_unknown-key');
  for (const [args, reason] of [
    [['retire', keyId], /answered 409: .*"key_in_use"/],
    [['activate', spare.keyId, '--predecessor-lost'], /answered 409: .*"key_not_lost"/],
    [['activate', '0'.repeat(32)], /answered 404: .*"not_found"/],
    [['list', '--key-file', wrongFile], /answered 401: .*"invalid_api_key"/],
    [['list', '--url', 'http://localhost:1'], /gave no answer: ECONNREFUSED$/],
  ] as const) {
    const { code, stdout, stderr } = await runCli(['keys', ...args], {
      MAINTENANCE_URL: vault.baseUrl,
      INTERNAL_API_KEY_FILE: t.context.keyFile,
    });
    t.deepEqual([code, stdout], [1, ''], stderr);
    t.regex(stderr.trimEnd(), reason);
    t.is(stderr.trimEnd().split('\n').length, 1);
    t.false(stderr.includes(internalKey));
  }
});

test.serial('a response that is not a vault’s list of keys is refused', async (t) => {
  for (const body of ['hello', '{}', '{"keys":[{}]}']) {
    const server = createServer((_request, response) => response.end(body));
    server.listen(0, '127.0.0.1');
    t.teardown(() => server.close());
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, stdout, stderr } = await runCli([
      'keys',
      'list',
      '--url',
      url,
      '--key-file',
      t.context.keyFile,
    ]);
    t.deepEqual([code, stdout], [1, '']);
    t.is(stderr, 'the response is not from a vault: check --url\n');
  }
});

test.serial('a misused command exits with 2', async (t) => {
  for (const [args, reason] of [
    [[], /^use keys with one of: list, create, activate, retire/],
    [['jam'], /^use keys with one of: /],
    [['create'], /^the purpose must be one of: audit, token/],
    [['create', 'mac'], /^the purpose must be one of: audit, token/],
    [['activate'], /^KEYID must be/],
    [['retire', '7'], /^KEYID must be/],
    [['list', 'audit'], /audit/],
    [['list', '--jam'], /--jam/],
    [
      ['retire', '0'.repeat(32), '--predecessor-lost'],
      /^--predecessor-lost is an option of activate only/,
    ],
    [['compromise', '0'.repeat(32)], /^--since must be an instant/],
    [['compromise', '0'.repeat(32), '--since', 'today'], /^--since must be an instant/],
    [['compromise', '7', '--since', '2026-01-01T00:00:00Z'], /^KEYID must be/],
    [['activate', '0'.repeat(32), '--successor', '0'.repeat(32)], /^--since and --successor are/],
    [['adopt', '7'], /^KEYID must be/],
    [['list'], /^--key-file or INTERNAL_API_KEY_FILE must name/],
  ] as const) {
    const { code, stdout, stderr } = await runCli(['keys', ...args]);
    t.deepEqual([code, stdout], [2, ''], stderr);
    t.regex(stderr, reason);
  }
  t.regex((await runCli(['keys', '--help'])).stdout, /^usage: probatio keys list/);
  t.regex((await runCli(['help'])).stdout, /^ {2}keys /m);
});
