import test from 'ava';
import { assertError } from '../../support/http/error-body.ts';
import { getJson, postJson } from '../../support/http/send.ts';
import { startReadyVault } from '../../support/vault/vault.ts';
import { logInAt, realmFile } from './keycloak.ts';

test('a vault accepts Keycloak’s access tokens, for what Keycloak may grant', async (t) => {
  const vault = await startReadyVault({ AUTH_ISSUERS_FILE: await realmFile(t) });
  t.teardown(() => vault.stop());
  const documents = `${vault.baseUrl}/v1/documents`;
  const alice = await logInAt('probatio-web', 'alice');
  const bob = await logInAt('probatio-web', 'bob');
  const other = await logInAt('other-web', 'alice');

  const { status, body } = await getJson(documents, alice.access_token);
  t.is(status, 200);
  t.deepEqual(body, []);
  const write = await postJson(documents, {}, alice.access_token);
  assertError(t, write, { status: 403, code: 'access_denied' });
  const noTenant = await getJson(documents, bob.access_token);
  assertError(t, noTenant, { status: 400, code: 'user_context_missing' });
  for (const token of [alice.id_token, alice.refresh_token]) {
    assertError(t, await getJson(documents, token), { status: 401, code: 'invalid_token' });
  }
  const foreign = await getJson(documents, other.access_token);
  assertError(t, foreign, { status: 401, code: 'invalid_audience' });
});
