import anyTest, { type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { validationMails } from '../support/accounts/mails.ts';
import {
  createAccount,
  inventAccount,
  openSession,
  register,
} from '../support/accounts/test-account.ts';
import { refresh, tryToken } from '../support/accounts/sessions.ts';
import { createApi } from '../support/documents/uploads.ts';
import { accountRow, claimsOf, entriesOf, startCliVault, type CliVault } from './cli-vault.ts';
import { runCli } from '../support/processes/run-cli.ts';
import { testIssuer } from '../support/vault/stack.ts';

const test = anyTest as TestFn<CliVault>;

test.before(async (t) => {
  t.context = await startCliVault();
});
test.after.always((t) => t.context.vault.stop());

test('the command line grants and revokes platform roles', async (t) => {
  const { vault, cli } = t.context;
  const account = await createAccount(vault);
  const session = await openSession(vault, account);
  const roles = ['platform_auditor', 'platform_operator', 'platform_admin'];
  const options = roles.flatMap((role) => ['--role', role]);
  t.is((await cli('grant', account, ...options)).code, 0);
  const next = (await refresh(vault, session.refreshToken)).body as {
    readonly accessToken: string;
  };
  t.deepEqual(claimsOf(next.accessToken).authz.roles, ['user', ...roles]);
  t.is((await cli('revoke', account, ...options)).code, 0);
  t.deepEqual((await accountRow(t.context, account)).roles, ['user']);
});

test('granted rights are in the next tokens of the account and in a signed entry', async (t) => {
  const { vault, cli } = t.context;
  const account = await createAccount(vault);
  const session = await openSession(vault, account);
  const { code, stdout, stderr } = await cli(
    'grant',
    { email: ` ${account.email.toUpperCase()} ` },
    ...'--role auditor --role operator --role auditor --scope jobs:submit'.split(' '),
    ...'--plan standard'.split(' '),
  );
  t.is(code, 0, stderr);
  t.is(stderr, '');
  t.regex(stdout, /^granted roles: auditor operator\n.*within 15 minutes\n$/s);

  t.deepEqual(claimsOf(session.accessToken).authz.roles, ['user']);
  const next = (await refresh(vault, session.refreshToken)).body as {
    readonly accessToken: string;
  };
  t.deepEqual(claimsOf(next.accessToken).authz.roles, ['user', 'auditor', 'operator']);

  const [entry, ...others] = await entriesOf(t.context, account);
  t.deepEqual(others, []);
  t.like(entry, {
    action: 'account.granted',
    actor: { type: 'system', id: 'cli' },
    data: { roles: 'auditor operator' },
  });
  const auditor = await createApi(vault, { roles: ['auditor'] });
  const verdict = await until(
    async () => {
      const path = `/v1/audit/proof/${entry?.id ?? ''}/verify`;
      const { status, body } = await auditor.send('GET', path);
      return status === 200 && body;
    },
    { what: 'the sealer to sign the entry', timeoutMs: 60_000 },
  );
  t.is(verdict['valid'], true);
});

test('a repeated grant or revocation changes nothing and writes no entry', async (t) => {
  const { vault, cli } = t.context;
  const account = await createAccount(vault);
  const grant = ['--role', 'auditor', '--scope', 'audit:read', '--tenant', 'default'];
  t.is((await cli('grant', account, ...grant)).code, 0);
  const once = await accountRow(t.context, account);
  const again = await cli('grant', account, ...grant);
  t.is(again.code, 0);
  t.regex(again.stdout, /^nothing to do/);
  t.deepEqual(await accountRow(t.context, account), once);

  t.is((await cli('revoke', account, '--role', 'auditor')).code, 0);
  t.regex((await cli('revoke', account, '--role', 'auditor')).stdout, /^nothing to do/);
  t.regex((await cli('revoke', account, '--sessions')).stdout, /^ended sessions: 0\n$/);
  t.deepEqual(
    (await entriesOf(t.context, account)).map(({ action, data }) => ({ action, data })),
    [
      { action: 'account.granted', data: { roles: 'auditor' } },
      { action: 'account.revoked', data: { roles: 'auditor' } },
    ],
  );
});

test('revoked rights are not in the next tokens, and --sessions ends the sessions', async (t) => {
  const { vault, cli } = t.context;
  const account = await createAccount(vault);
  await cli('grant', account, '--role', 'operator');
  const [first, second] = [await openSession(vault, account), await openSession(vault, account)];
  const { stdout } = await cli('revoke', account, '--role', 'operator', '--scope', 'sync:write');
  t.regex(stdout, /^revoked roles: operator\nrevoked scopes: sync:write\n.*15 minutes.*--sessions/);
  t.is((await tryToken(vault, first.accessToken)).status, 200);
  const next = (await refresh(vault, first.refreshToken)).body as typeof first;
  t.deepEqual(claimsOf(next.accessToken).authz.roles, ['user']);
  t.false(claimsOf(next.accessToken).authz.scopes.includes('sync:write'));

  const ended = await cli('revoke', account, '--sessions');
  t.is(ended.stdout, 'ended sessions: 2\n');
  for (const { refreshToken } of [next, second]) {
    t.is((await refresh(vault, refreshToken)).status, 401);
  }
  for (const { accessToken } of [first, next, second]) {
    await until(async () => (await tryToken(vault, accessToken)).status === 401, {
      what: 'the access token to be refused',
      timeoutMs: 60_000,
    });
  }
  t.like((await entriesOf(t.context, account)).at(-1), {
    action: 'account.revoked',
    data: { sessions: 2 },
  });
});

test('two concurrent grants both take effect', async (t) => {
  const { vault, cli } = t.context;
  const account = await createAccount(vault);
  await Promise.all([
    cli('grant', account, '--role', 'auditor'),
    cli('grant', account, '--role', 'operator'),
  ]);
  const { roles } = await accountRow(t.context, account);
  t.deepEqual(roles.toSorted(), ['auditor', 'operator', 'user']);
});

test('a grant whose entry cannot be written is rolled back', async (t) => {
  const { vault, sql, cli } = t.context;
  const account = await createAccount(vault);
  const { id } = await accountRow(t.context, account);
  await sql(
    `create function refuse_entry() returns trigger language plpgsql
     as $$ begin raise 'on purpose'; end $$`,
  );
  await sql(
    `create trigger refuse_entry before insert on audit_log for each row
     when (new.user_id = '${id}') execute function refuse_entry()`,
  );
  const { code, stdout, stderr } = await cli('grant', account, '--role', 'auditor');
  t.is(code, 1);
  t.is(stdout, '');
  t.regex(stderr, /on purpose/);
  t.deepEqual((await accountRow(t.context, account)).roles, ['user']);
});

test('only an active account can be granted or revoked rights', async (t) => {
  const { vault, cli } = t.context;
  const pending = inventAccount();
  await register(vault, pending);
  await validationMails(vault, pending.email, 1);
  for (const account of [pending, inventAccount()]) {
    for (const command of ['grant', 'revoke']) {
      const { code, stdout, stderr } = await cli(command, account, '--role', 'auditor');
      t.is(code, 1);
      t.is(stdout, '');
      t.is(stderr, 'No active account has this e-mail address; check its spelling.\n');
    }
  }
});

test('a database that is unavailable or refuses the login is reported in one line', async (t) => {
  const run = (url: string) =>
    runCli(['grant', '--email', 'a@example.org', '--role', 'auditor'], {
      HTTP_PUBLIC_URL: testIssuer,
      DATABASE_SERVICE_URL: url,
    });
  const away = await run('postgresql://probatio_service:secret@127.0.0.1:1/vault');
  const words = 'The database is unavailable; try again soon. (connect ECONNREFUSED 127.0.0.1:1)\n';
  t.deepEqual(away, { code: 1, stdout: '', stderr: words });
  const url = new URL(t.context.vault.databases.service);
  url.password = 'wrong-password';
  const refused = await run(url.href);
  t.is(refused.code, 78);
  t.regex(
    refused.stderr,
    /\n {2}DATABASE_SERVICE_URL names a role that Postgres refuses: correct /,
  );
  t.false(refused.stderr.includes('wrong-password'));
});

test('a command refuses every login but that of the workers, and changes nothing', async (t) => {
  const { vault } = t.context;
  const account = await createAccount(vault);
  const { roles } = await accountRow(t.context, account);
  const args = ['grant', '--email', account.email, '--role', 'platform_admin'];
  for (const [url, told] of [
    [vault.databases.app, /\n {2}DATABASE_SERVICE_URL logs in as probatio_app, which /],
    [vault.databases.owner, /\n {2}DATABASE_SERVICE_URL logs in as \w+, which /],
  ] as const) {
    const { code, stderr } = await runCli(args, {
      HTTP_PUBLIC_URL: testIssuer,
      DATABASE_SERVICE_URL: url,
    });
    t.is(code, 78);
    t.regex(stderr, told);
  }
  t.deepEqual((await accountRow(t.context, account)).roles, roles);
});
