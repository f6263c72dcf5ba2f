import test from 'ava';
import { createApi } from '../support/documents/uploads.ts';
import { namesIn } from '../support/documents/sharing-keys.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';

const vault = sharedVault();

test('a user reads the names by which entries name the user and the vault', async (t) => {
  const api = await createApi(vault, { tenantId: 'acme' });
  const { status, body } = await api.send('GET', '/v1/auth/account');
  t.is(status, 200);
  const { owner: userId, issuer } = namesIn(api.token);
  t.deepEqual(body, { userId, tenantId: 'acme', issuer });
});

test('a token without the role of a user reads no names', async (t) => {
  const api = await createApi(vault, { roles: ['auditor'] });
  t.is((await api.send('GET', '/v1/auth/account')).body['code'], 'access_denied');
});
