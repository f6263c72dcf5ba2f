import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { insertExpired } from '../support/accounts/purge-vault.ts';
import { pauseAt, untilWaiting } from '../support/accounts/paused-statement.ts';
import { runCli } from '../support/processes/run-cli.ts';
import {
  startMaintenanceVault,
  type MaintenanceVault,
} from '../support/vault/maintenance-vault.ts';
import { insertOverdue } from './uploads-in-bulk.ts';

interface Context extends MaintenanceVault {
  readonly directory: string;
  /** Path of a file with the admin key and a line break, as an editor leaves it. */
  readonly keyFile: string;
}

const test = anyTest as TestFn<Context>;

test.before(async (t) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-cli-'));
  const vault = await startMaintenanceVault();
  const keyFile = path.join(directory, 'key');
  await writeFile(keyFile, `${vault.keys.admin}\n`);
  t.context = { ...vault, directory, keyFile };
});
test.after.always(async (t) => {
  await t.context.stop();
  await rm(t.context.directory, { recursive: true });
});

const maintenance = ({ vault, keyFile }: Context, ...args: string[]) =>
  runCli(['maintenance', ...args, '--url', vault.baseUrl, '--key-file', keyFile]);

test.serial('a task runs and its report is printed', async (t) => {
  await insertOverdue(t.context.sql, 3);
  await insertExpired(t.context.sql, 2);
  const preview = await maintenance(t.context, 'expire-uploads', '--dry-run');
  t.deepEqual([preview.code, preview.stderr], [0, '']);
  t.like(JSON.parse(preview.stdout), { dryRun: true, expiredSessions: 3 });
  const expected = {
    'expire-uploads': { task: 'expire-uploads', dryRun: false, expiredSessions: 3 },
    'expire-documents': { task: 'expire-documents', expiredVersions: 0 },
    'collect-garbage': { task: 'collect-garbage', deletedObjects: 0 },
    'drain-outbox': { task: 'drain-outbox', resumedMessages: 0 },
    'purge-jobs': { task: 'purge-jobs', removedJobs: 0, removedQueueEntries: 0 },
    'retry-dlq': { task: 'retry-dlq', retriedEntries: 0, recoveredEntries: 0 },
    'verify-files': { task: 'verify-files', checkedFiles: 0, damagedFiles: 0 },
    reencrypt: { task: 'reencrypt', reencryptedCredentials: 0, reencryptedEnvelopes: 0 },
    'purge-accounts': { dryRun: false, purgedAccounts: 2 },
  };
  for (const [task, report] of Object.entries(expected)) {
    const { code, stdout, stderr } = await maintenance(t.context, task);
    t.deepEqual([code, stderr], [0, ''], task);
    t.true(stdout.endsWith('}\n'));
    t.like(JSON.parse(stdout), report);
  }
});

test.serial('a damaged log fails verify-log, which names the places', async (t) => {
  const { sql } = t.context;
  await sql(
    "delete from audit_log where id in (select entry_id from audit_seals where key_id = '\\x00')",
  );
  await sql("delete from audit_trails where resource_type = 'account'");
  const whole = await maintenance(t.context, 'verify-log');
  t.deepEqual([whole.code, whole.stderr], [0, '']);
  t.like(JSON.parse(whole.stdout), { task: 'verify-log', damagedEntries: 0, missingEntries: 0 });
  const [entry] = await sql(
    `delete from audit_log using audit_trails where seq = 1 and trail_id = (
       select trail_id from audit_log where action = 'maintenance.ran' and seq = 2 limit 1)
       and audit_trails.id = trail_id
     returning resource_id`,
  );
  const { code, stdout, stderr } = await maintenance(t.context, 'verify-log');
  t.deepEqual([code, stdout], [1, '']);
  t.regex(stderr, /answered 500: .*"log_damaged"/);
  t.true(stderr.includes(`maintenance/${String(entry?.['resource_id'])}/1`));
});

test.serial('the URL and the key file are also taken from the environment', async (t) => {
  const { vault, keyFile } = t.context;
  const { code, stdout } = await runCli(['maintenance', 'expire-documents'], {
    MAINTENANCE_URL: `${vault.baseUrl}/`,
    INTERNAL_API_KEY_FILE: keyFile,
  });
  t.is(code, 0);
  t.like(JSON.parse(stdout), { task: 'expire-documents' });
});

test.serial('a failed task exits with 1 and the reason, and prints no key', async (t) => {
  const { vault, sql, keys, directory, keyFile } = t.context;
  const write = async (name: string, text: string) => {
    const file = path.join(directory, name);
    await writeFile(file, text);
    return file;
  };
  const url = vault.baseUrl;
  const unknown = 'pik_unknown-key';
  const binary = await write('binary', 'a\u0000b');
  await insertOverdue(sql, 1);
  const paused = await pauseAt(vault, 'update on upload_sessions');
  const running = maintenance(t.context, 'expire-uploads');
  await untilWaiting(vault, 1);
  for (const [file, target, reason] of [
    [keyFile, url, /answered 409: .*"maintenance_running".*\nask again in 60 s$/],
    [await write('unknown', unknown), url, /answered 401: .*"invalid_api_key"/],
    [await write('plain', keys.plain), url, /answered 403: .*"access_denied"/],
    [keyFile, `${url}/elsewhere`, /answered 404: /],
    [keyFile, 'http://localhost:1', /^http:\/\/localhost:1 gave no answer: ECONNREFUSED$/],
    [path.join(directory, 'nowhere'), url, /ENOENT/],
    [binary, url, /holds no key$/],
    [await write('empty', '\n'), url, /holds no key$/],
  ] as const) {
    const outcome = await runCli([
      'maintenance',
      'expire-uploads',
      '--url',
      target,
      '--key-file',
      file,
    ]);
    t.deepEqual([outcome.code, outcome.stdout], [1, ''], outcome.stderr);
    t.regex(outcome.stderr.trimEnd(), reason);
    for (const key of [keys.admin, keys.plain, unknown]) t.false(outcome.stderr.includes(key));
  }
  await paused.end();
  t.is((await running).code, 0);
});

test.serial('an app that dies during the task is a failure', async (t) => {
  const server = createServer((request) => request.socket.destroy());
  server.listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { code, stderr } = await runCli([
    'maintenance',
    'collect-garbage',
    '--url',
    url,
    '--key-file',
    t.context.keyFile,
  ]);
  t.is(code, 1);
  t.is(stderr, `${url} gave no answer: ECONNRESET\n`);
});

test.serial('a misused command exits with 2', async (t) => {
  const { keyFile } = t.context;
  for (const [args, reason] of [
    [[], /^the task must be one of: purge-accounts, purge-jobs, expire-uploads, /],
    [['jam'], /^the task must be one of: /],
    [['expire-uploads'], /^--key-file or INTERNAL_API_KEY_FILE must name/],
    [['expire-uploads', '--key-file', ''], /^--key-file or INTERNAL_API_KEY_FILE must name/],
    [['expire-uploads', '--key-file', keyFile, '--url', 'jam'], /^--url must be/],
    [['expire-uploads', '--key-file', keyFile, '--url', 'ftp://a'], /^--url must be/],
    [['expire-uploads', '--jam'], /--jam/],
    [['expire-uploads', 'collect-garbage'], /collect-garbage/],
  ] as const) {
    const { code, stdout, stderr } = await runCli(['maintenance', ...args]);
    t.deepEqual([code, stdout], [2, ''], stderr);
    t.regex(stderr, reason);
  }
});

test.serial('--help prints the usage', async (t) => {
  const { code, stdout } = await runCli(['maintenance', '--help']);
  t.is(code, 0);
  t.regex(stdout, /^usage: probatio maintenance <task>/);
  t.regex((await runCli(['help'])).stdout, /^ {2}maintenance /m);
});
