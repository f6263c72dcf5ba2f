import anyTest, { type TestFn } from 'ava';
import { pauseAt, untilWaiting } from '../../support/accounts/paused-statement.ts';
import { beginLogin, createAccount, logIn } from '../../support/accounts/test-account.ts';
import { claimsOf, startCliVault, type CliVault } from '../../cli/cli-vault.ts';
import { assertError } from '../../support/http/error-body.ts';
import { postJson } from '../../support/http/send.ts';

const test = anyTest as TestFn<CliVault>;

test.before(async (t) => {
  t.context = await startCliVault();
});
test.after.always((t) => t.context.vault.stop());

const changes: Record<string, readonly string[]> = {
  'its role is revoked': ['revoke', '--role', 'auditor', '--sessions'],
  'its scope is revoked': ['revoke', '--scope', 'keys:manage', '--sessions'],
  'it moves to another tenant': ['grant', '--tenant', 'elsewhere'],
};
for (const [what, [command = '', ...args]] of Object.entries(changes)) {
  test.serial(
    `a login in progress while ${what} opens no session with the old rights`,
    async (t) => {
      const { vault, cli, sql } = t.context;
      const account = await createAccount(vault);
      await cli('grant', account, '--role', 'auditor');
      const { sessionId, A, M1 } = await beginLogin(vault, account);
      // The proof is verified and the account is read before this statement.
      const pause = await pauseAt(vault, 'insert on known_addresses');
      const verifying = postJson(`${vault.baseUrl}/v1/auth/login/verify`, { sessionId, A, M1 });
      await untilWaiting(vault, 1);
      const { code, stderr } = await cli(command, account, ...args);
      await pause.end();

      t.is(code, 0, stderr);
      assertError(t, await verifying, { status: 401, code: 'invalid_proof' });
      const opened =
        'select 1 from login_sessions s join accounts a on a.id = user_id where email = $1';
      t.deepEqual(await sql(opened, [account.email]), []);
      const { authz, tenant_id: tenant } = claimsOf(await logIn(vault, account));
      t.is(authz.roles.includes('auditor'), !args.includes('auditor'));
      t.is(authz.scopes.includes('keys:manage'), !args.includes('keys:manage'));
      t.is(tenant, args.includes('elsewhere') ? 'elsewhere' : 'default');
    },
  );
}
