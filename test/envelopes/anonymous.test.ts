import test from 'ava';
import { loadConfig } from '../../app/config/config.ts';
import { ConfigError } from '../../signer/protocol/process/config-error.ts';
import { anyEnvelope, createOwner, createDevice } from '../support/accounts/owner.ts';
import { assertError } from '../support/http/error-body.ts';
import { getJson, postJson, send } from '../support/http/send.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';

const allowed = { KEYS_ALLOW_ANONYMOUS_IN_DEVELOPMENT: 'true' };
const invalidToken = { status: 401, code: 'invalid_token' };
const keys = '/v1/crypto/keys';

test('in development key routes may serve callers without a token as one user', async (t) => {
  const vault = await startReadyVault({ NODE_ENV: 'development', ...allowed });
  t.teardown(() => vault.stop());
  const master = `${vault.baseUrl}${keys}/master-envelope`;
  const json = { encryptedEnvelope: anyEnvelope() };
  t.is((await postJson(master, json)).status, 201);
  t.is((await postJson(master, json)).status, 409);
  t.like((await getJson(master)).body, json);
  const device = { deviceId: '6f1c1d1e-0000-4000-8000-000000000001', ...json };
  t.is((await postJson(`${vault.baseUrl}${keys}/device-envelope`, device)).status, 201);
  const { body } = await getJson(`${vault.baseUrl}${keys}/devices`);
  t.like(body, [{ deviceId: device.deviceId }]);

  const { token } = await createOwner(vault);
  assertError(t, await getJson(master, token), { status: 404, code: 'not_found' });
  assertError(t, await getJson(master, 'jam'), invalidToken, 'a wrong token is refused');
  await assertNothingElse(t, vault);
});

async function assertNothingElse(t: Parameters<typeof assertError>[0], vault: TestVault) {
  for (const path of ['/v1/documents', '/v1/auth/sessions', `${keys}/sharing`]) {
    assertError(t, await getJson(`${vault.baseUrl}${path}`), invalidToken, path);
  }
  const credentials = `${vault.baseUrl}/v1/auth/credentials`;
  assertError(t, await send('PUT', credentials, { json: {} }), invalidToken);
}

test('by default callers without a token are refused in development too', async (t) => {
  const vault = await startReadyVault({ NODE_ENV: 'development' });
  t.teardown(() => vault.stop());
  const master = `${vault.baseUrl}${keys}/master-envelope`;
  assertError(t, await getJson(master), invalidToken);
  assertError(t, await postJson(master, { encryptedEnvelope: anyEnvelope() }), invalidToken);
  const { token } = await createOwner(vault);
  await createDevice(vault, token);
});

test('a vault outside of development refuses to start with anonymous keys allowed', (t) => {
  const settings = {
    DATABASE_URL: 'postgresql://app@db/vault',
    DATABASE_SERVICE_URL: 'postgresql://service@db/vault',
    REDIS_URL: 'redis://cache',
    STORAGE_DIRECTORY: '/objects',
    SIGNER_SOCKET_PATH: '/run/signer.sock',
    MAIL_DIRECTORY: '/mail',
    ...allowed,
  };
  for (const environment of [{}, { NODE_ENV: 'production' }, { NODE_ENV: 'test' }]) {
    const error = t.throws(() => loadConfig({ ...settings, ...environment }), {
      instanceOf: ConfigError,
    });
    t.regex(error?.message ?? '', /KEYS_ALLOW_ANONYMOUS_IN_DEVELOPMENT/);
  }
  const { keys: development } = loadConfig({ ...settings, NODE_ENV: 'development' });
  t.true(development.allowAnonymousInDevelopment);
  t.is(development.rawForm, 'allow');
});
