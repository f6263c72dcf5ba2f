import { beginLogin, type TestAccount } from '../../support/accounts/test-account.ts';
import { postJson } from '../../support/http/send.ts';
import { createSql } from '../../support/vault/sql.ts';
import type { Vault } from '../../support/vault/vault.ts';

/** Returns all that a change of credentials may touch; envelopes are keyed by kind or device id. */
export async function stateOf(vault: Vault, userId: string) {
  const sql = createSql(vault);
  const credentials = await sql('select * from credentials where account_id = $1 order by method', [
    userId,
  ]);
  const envelopes = await sql('select * from key_envelopes where user_id = $1', [userId]);
  return {
    credentials,
    envelopes: Object.fromEntries(
      envelopes.map((row) => [String(row['device_id'] ?? row['kind']), row]),
    ),
  };
}

/** Logs in and returns the status; `meanwhile` runs between the two steps of the login. */
export async function logInWith(
  vault: Vault,
  account: TestAccount,
  meanwhile?: () => Promise<void>,
): Promise<number> {
  const { sessionId, A, M1 } = await beginLogin(vault, account);
  await meanwhile?.();
  const verify = `${vault.baseUrl}/v1/auth/login/verify`;
  return (await postJson(verify, { sessionId, A, M1 })).status;
}
