import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { freePort } from '../../../app/dev/processes/free-port.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { runCli } from '../../support/processes/run-cli.ts';
import { runProgram, temporaryDirectory, untilLine } from '../../support/processes/processes.ts';
import { putInDlq } from '../../support/audit/unsealed.ts';
import { startVaultWithSigner, type VaultWithSigner } from '../../support/audit/killable-signer.ts';
import { createKeyFile, type KeyFile } from '../../support/vault/key-file.ts';
import { createSql } from '../../support/vault/sql.ts';
import { untilReady } from '../../support/vault/vault.ts';

interface Context extends VaultWithSigner {
  readonly keys: KeyFile;
}

interface Finding {
  readonly name: string;
  readonly status: string;
  readonly text: string;
  readonly advice: string | null;
}

const test = anyTest as TestFn<Context>;

test.before(async (t) => {
  const keys = await createKeyFile();
  const started = await startVaultWithSigner({ INTERNAL_API_KEYS_FILE: keys.path });
  await untilReady(started.vault.baseUrl);
  t.context = { ...started, keys };
});
test.after.always(async (t) => {
  await t.context.stop();
  await t.context.keys.remove();
});

/** Runs `probatio status` with an internal API key, which no output may hold. */
async function status(
  { vault, keys }: Context,
  { args = [], url = vault.baseUrl, key = keys.admin }: Readonly<Partial<Asked>> = {},
) {
  const file = path.join(path.dirname(keys.path), 'key');
  await writeFile(file, `${key}\n`);
  const outcome = await runCli(['status', '--url', url, '--key-file', file, ...args]);
  if (`${outcome.stdout}${outcome.stderr}`.includes(key)) throw new Error('the key is printed');
  return outcome;
}

interface Asked {
  readonly args: readonly string[];
  readonly url: string;
  readonly key: string;
}

/** Returns the lines that need a look, without those of checks that a busy machine made late. */
const looks = (stdout: string) =>
  stdout.split('\n').filter((line) => /^look(?!.* the check fails with timeout)/.test(line));

test.serial('a vault in which all is well ends with 0, and each subject has a line', async (t) => {
  let outcome = await status(t.context);
  const isWell = async () => {
    outcome = await status(t.context);
    return outcome.code === 0;
  };
  await until(isWell, { what: 'a vault in which all is well', timeoutMs: 60_000 });
  const { stdout, stderr } = outcome;
  t.deepEqual([stderr, looks(stdout)], ['', []]);
  for (const subject of [
    /^ok {4}health\.signer: +answered within \d+ ms$/m,
    /^ok {4}alerts: /m,
    /^ok {4}backlog: /m,
    /^ok {4}dead letters: +0 entries/m,
    /^ok {4}key audit: +audit-\d+ \([0-9a-f]{32}\) is active since /m,
    /^ok {4}key token: /m,
    /^ok {4}signer: +the token of the HSM is ready/m,
    /^ok {4}marks: /m,
    /^ok {4}task verify-log: +never succeeded; interval 1 day$/m,
    /^ok {4}outbox: +0 messages/m,
    /^ok {4}jobs: +0 pending, 0 active, 0 completed, 0 failed, 0 retried$/m,
  ]) {
    t.regex(stdout, subject);
  }
});

test.serial('a dead letter needs a look, with its reason and its runbook', async (t) => {
  const sql = createSql(t.context.vault);
  const [entry] = await sql('select id from audit_log order by id desc limit 1');
  await putInDlq(sql, [entry?.['id']], 'not_canonical');
  t.teardown(() => sql('delete from audit_dead_letters'));
  const text = await status(t.context);
  t.deepEqual([text.code, text.stderr], [1, '']);
  const line = new RegExp(
    '^look {2}dead letters: +warning dead_letters \\(threshold 1\\): 1 entry in the dead-letter ' +
      'queue, the oldest since .*, by reason: not_canonical 1 -> see docs/runbooks/DLQStale\\.md$',
  );
  t.is(looks(text.stdout).length, 1);
  t.regex(looks(text.stdout)[0] ?? '', line);

  const json = await status(t.context, { args: ['--json'] });
  t.deepEqual([json.code, json.stderr], [1, '']);
  const page = JSON.parse(json.stdout) as { status: string; checks: readonly Finding[] };
  t.is(page.status, 'look');
  const isOfHealth = (name = '') => name.startsWith('health.');
  const findings = [...text.stdout.matchAll(/^(\w+) +([^:]+):/gm)];
  t.deepEqual(
    page.checks.filter(({ name }) => !isOfHealth(name)).map((check) => [check.status, check.name]),
    findings.filter(([, , name]) => !isOfHealth(name)).map(([, grade, name]) => [grade, name]),
  );
  for (const { status: grade, advice } of page.checks) t.is(advice === null, grade === 'ok');
});

test.serial('a task that failed needs a look, with its error and its runbook', async (t) => {
  const sql = createSql(t.context.vault);
  await sql(
    `insert into maintenance_runs (id, task, dry_run, requested_by, started_at, ended_at, error)
     values (gen_random_uuid(), 'purge-jobs', false, 'cron', now(), now(), 'queue_unavailable')`,
  );
  t.teardown(() => sql('delete from maintenance_runs'));
  const { code, stdout } = await status(t.context);
  t.is(code, 1);
  t.is(looks(stdout).length, 1);
  t.regex(
    looks(stdout)[0] ?? '',
    /^look {2}task purge-jobs: +the last run failed with queue_unavailable .*PurgeStale\.md$/,
  );
});

test.serial('--watch draws pages until SIGINT, and ends with the code of the last', async (t) => {
  const { vault, keys } = t.context;
  const directory = await temporaryDirectory(t);
  const file = path.join(directory, 'key');
  await writeFile(file, keys.admin);
  const args = ['status', '--watch', '--url', vault.baseUrl, '--key-file', file] as const;
  const program = runProgram(t, ['app/cli.ts', ...args]);
  const countPages = () =>
    program.lines.filter((line) => line.startsWith('probatio status of ')).length;
  const ends = () => program.lines.filter((line) => /^ok {4}jobs: /.test(line)).length;
  await until(() => ends() === 2, { what: 'a second page', timeoutMs: 60_000 });
  program.kill('SIGINT');
  t.is(await program.exitCode, 0);
  t.deepEqual([countPages(), ends()], [2, 2]);
  t.true(program.lines.every((line) => /^(?:$|ok {4}|probatio status of )/.test(line)));
});

test.serial('--watch ends with 1 if the vault did not answer', async (t) => {
  const directory = await temporaryDirectory(t);
  const file = path.join(directory, 'key');
  await writeFile(file, t.context.keys.admin);
  const url = `http://127.0.0.1:${await freePort()}`;
  const args = ['status', '--watch', '--json', '--url', url, '--key-file', file] as const;
  const program = runProgram(t, ['app/cli.ts', ...args]);
  const line = await untilLine(program, /^\{/);
  t.like(JSON.parse(line), { status: 'look' });
  program.kill('SIGINT');
  t.is(await program.exitCode, 1);
});

test.serial('a vault that is away is one line that names it, and ends with 1', async (t) => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const text = await status(t.context, { url });
  const advice = 'see docs/runbooks/TargetAbsent.md';
  const reason = `${url} gave no answer: ECONNREFUSED`;
  t.deepEqual(
    [text.code, text.stdout, text.stderr],
    [1, `look  vault: ${reason} -> ${advice}\n`, ''],
  );
  const json = await status(t.context, { url, args: ['--json'] });
  t.is(json.code, 1);
  t.like(JSON.parse(json.stdout), {
    status: 'look',
    checks: [{ name: 'vault', status: 'look', text: reason, advice }],
  });
});

test.serial('a wrong call or setting ends with 2 and one reason', async (t) => {
  const { keys, vault } = t.context;
  for (const [asked, reason] of [
    [{ args: ['--jam'] }, /--jam/],
    [{ args: ['all'] }, /all/],
    [{ args: ['--watch=3'] }, /--watch/],
    [{ url: 'jam' }, /^--url must be/],
    [{ url: `${vault.baseUrl}/elsewhere` }, /serves no internal routes/],
    [{ key: 'pik_unknown-key' }, /^the vault refuses the internal API key: it does not know it/],
    [{ key: keys.plain }, /^the vault refuses the internal API key: it lacks the admin right/],
    [{ key: 'two words' }, /holds no key/],
  ] as const) {
    const { code, stdout, stderr } = await status(t.context, asked);
    t.deepEqual([code, stdout], [2, ''], stderr);
    t.regex(stderr, reason);
    t.regex(stderr, /see: probatio status --help\n$/);
  }
  for (const [args, env, reason] of [
    [[], {}, /^--key-file or INTERNAL_API_KEY_FILE must name/],
    [['--key-file', '/nowhere/key'], {}, /ENOENT/],
    [['--key-file', keys.path], { MAINTENANCE_URL: 'jam' }, /MAINTENANCE_URL/],
  ] as const) {
    const { code, stdout, stderr } = await runCli(['status', ...args], env);
    t.deepEqual([code, stdout], [2, ''], stderr);
    t.regex(stderr, reason);
  }
});

test.serial('a signer that is away needs a look, and the rest is told', async (t) => {
  await t.context.signer.kill();
  const { code, stdout, stderr } = await status(t.context);
  t.deepEqual([code, stderr], [1, '']);
  const found = looks(stdout);
  t.true(found.some((line) => /^look {2}health\.signer: .*runbooks\/SignerDown\.md/.test(line)));
  t.true(
    found.includes(
      'look  signer:                the token of the HSM is unreachable ' +
        '-> see docs/runbooks/SignerDown.md',
    ),
    stdout,
  );
  t.regex(stdout, /^ok {4}health\.database: /m);
  t.regex(stdout, /^ok {4}dead letters: /m);
});
