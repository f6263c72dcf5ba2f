import type { ExecutionContext } from 'ava';
import { createAccount, openSession } from '../../support/accounts/test-account.ts';
import { certify, storeDocument } from '../../support/documents/documents.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { createMfaUser } from '../../support/mfa/mfa-user.ts';
import type { TestVault } from '../../support/vault/vault.ts';

/** Uses a vault in every way that a dashboard shows. */
export async function useVault(t: ExecutionContext, vault: TestVault): Promise<void> {
  await openSession(vault, await createAccount(vault));
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  t.is((await certify(api, id)).status, 200);
  const file = await fetch(`${vault.baseUrl}/v1/documents/${id}/download`, {
    headers: { authorization: `Bearer ${api.token}` },
  });
  t.is(file.status, 200);
  await file.bytes();
  t.is((await fetch(`${vault.baseUrl}/v1/nowhere`)).status, 404);
  await (await createMfaUser(vault)).enable();
}
