import anyTest, { type TestFn } from 'ava';
import { exitCodes } from '../../signer/protocol/process/exit-codes.ts';
import { createAccount, inventAccount } from '../support/accounts/test-account.ts';
import { getJson, send } from '../support/http/send.ts';
import { runCli } from '../support/processes/run-cli.ts';
import { testStack } from '../support/vault/stack.ts';
import { claimsOf, startCliVault, type CliVault } from './cli-vault.ts';

const test = anyTest as TestFn<CliVault>;

test.before(async (t) => {
  t.context = await startCliVault();
});
test.after.always((t) => t.context.vault.stop());

function settings({ vault }: CliVault, environment: string | undefined): NodeJS.ProcessEnv {
  return {
    ...(environment === undefined ? {} : { NODE_ENV: environment }),
    HTTP_PUBLIC_URL: vault.config.http.publicUrl,
    DATABASE_SERVICE_URL: vault.databases.service,
    SIGNER_SOCKET_PATH: testStack().signerSocketPath,
  };
}

test('in development, token prints one with the rights of an account', async (t) => {
  const { vault, sql } = t.context;
  const account = await createAccount(vault);
  const env = settings(t.context, 'development');
  const { code, stdout, stderr } = await runCli(['token', '--email', account.email], env);
  t.is(code, exitCodes.ok, stderr);
  t.is(stderr, '');
  t.regex(stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  const token = stdout.trim();
  t.deepEqual(claimsOf(token).authz.roles, ['user']);

  t.is((await getJson(`${vault.baseUrl}/v1/usage`, token)).status, 200);
  const sessions = await getJson(`${vault.baseUrl}/v1/auth/sessions`, token);
  const [session, ...others] = sessions.body as readonly { readonly expiresAt: string }[];
  t.deepEqual(others, []);
  const leftMs = Date.parse(session?.expiresAt ?? '') - Date.now();
  t.true(leftMs > 0 && leftMs <= 900_000);
  const [entry] = await sql(
    `select action, canonical::json -> 'actor' as actor from audit_entries
     where action = 'auth.token_issued'`,
  );
  t.deepEqual(entry?.['actor'], { type: 'system', id: 'cli' });

  t.is((await send('POST', `${vault.baseUrl}/v1/auth/logout`, { token })).status, 204);
  t.is((await getJson(`${vault.baseUrl}/v1/usage`, token)).status, 401);
});

for (const environment of [undefined, 'production', 'test', '']) {
  test(`no token is printed with NODE_ENV=${environment ?? '(not set)'}`, async (t) => {
    const account = await createAccount(t.context.vault);
    const env = settings(t.context, environment);
    const { code, stdout, stderr } = await runCli(['token', '--email', account.email], env);
    t.is(code, exitCodes.refused);
    t.is(stdout, '');
    t.is(stderr, 'NODE_ENV: is not development, and only there a token needs no password\n');
  });
}

test('an account that does not exist gets no token', async (t) => {
  const env = settings(t.context, 'development');
  const unknown = await runCli(['token', '--email', inventAccount().email], env);
  t.is(unknown.code, exitCodes.failed);
  t.is(unknown.stdout, '');
  for (const args of [[], ['--email', 'nobody'], ['--user', 'x']]) {
    t.is((await runCli(['token', ...args], env)).code, exitCodes.misused, args.join(' '));
  }
});
