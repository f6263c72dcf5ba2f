import { passwordRow } from '../../../app/accounts/credential-rows.ts';
import { envelopeRow } from '../../../app/envelopes/rows.ts';
import { beginLogin, type TestAccount } from '../../support/accounts/test-account.ts';
import { postJson } from '../../support/http/send.ts';
import { createSql } from '../../support/vault/sql.ts';
import type { TestVault, Vault } from '../../support/vault/vault.ts';

/**
 * Returns all that a change of credentials may touch, decrypted; envelopes are keyed by kind or
 * device id.
 */
export async function stateOf(vault: TestVault, userId: string) {
  const sql = createSql(vault);
  const { cipher } = vault.services;
  const credentials = await sql('select * from credentials where account_id = $1 order by method', [
    userId,
  ]);
  const envelopes = await sql('select * from key_envelopes where user_id = $1', [userId]);
  return {
    credentials: credentials.map((row) => {
      const values = { salt: String(row['salt']), verifier: String(row['verifier']) };
      const stored = { ...generationOf(row), values };
      return Object.assign(row, cipher.decrypt(passwordRow(userId), stored));
    }),
    envelopes: Object.fromEntries(
      envelopes.map((row) => {
        const name = envelopeRow({ id: String(row['id']), user_id: userId });
        const values = { wrappedKey: String(row['encrypted_envelope']) };
        const { wrappedKey } = cipher.decrypt(name, { ...generationOf(row), values });
        return [
          String(row['device_id'] ?? row['kind']),
          { ...row, encrypted_envelope: wrappedKey },
        ];
      }),
    ),
  };
}

function generationOf({ key_generation: generation }: Record<string, unknown>) {
  return { generation: generation === null ? null : Number(generation) };
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
