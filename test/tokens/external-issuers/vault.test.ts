import test, { type ExecutionContext } from 'ava';
import type { JWTPayload } from 'jose';
import { until } from '../../../app/dev/processes/until.ts';
import { createAccount, logIn } from '../../support/accounts/test-account.ts';
import { assertError } from '../../support/http/error-body.ts';
import { getJson, postJson } from '../../support/http/send.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import { issuersFile } from '../../support/issuers/issuers-file.ts';
import { startKeyServer, type KeyServer } from '../../support/issuers/key-server.ts';
import { createSigningKey } from '../../support/issuers/signing-key.ts';
import { testIssuer } from '../../support/issuers/test-issuer.ts';

interface TrustingVault {
  readonly vault: TestVault;
  readonly server: KeyServer;
  /** Signs a token of the issuer for a user of the tenant `one` who may read documents. */
  sign(changes?: JWTPayload): Promise<string>;
}

async function startTrustingVault(t: ExecutionContext, settings = {}): Promise<TrustingVault> {
  const server = await startKeyServer();
  t.teardown(() => server.close());
  const key = await createSigningKey();
  server.publish(key.jwk);
  const entry = { ...testIssuer(server.url), ...settings };
  const vault = await startReadyVault({ AUTH_ISSUERS_FILE: await issuersFile(t, [entry]) });
  t.teardown(() => vault.stop());
  return {
    vault,
    server,
    sign(changes) {
      const exp = Math.floor(Date.now() / 1000) + 300;
      const authz = { scopes: ['documents:read', 'documents:write'] };
      const { issuer: iss, audience: aud } = entry;
      const claims = { iss, aud, exp, sub: 'someone', tenant_id: 'one', authz };
      return key.sign({ ...claims, ...changes });
    },
  };
}

test('a token of a trusted issuer reaches what the issuer may grant', async (t) => {
  const { vault, sign } = await startTrustingVault(t);
  const documents = `${vault.baseUrl}/v1/documents`;
  const { status, body } = await getJson(documents, await sign());
  t.is(status, 200);
  t.deepEqual(body, []);
  const refused = await postJson(documents, {}, await sign());
  assertError(t, refused, { status: 403, code: 'access_denied' });
  const own = await logIn(vault, await createAccount(vault));
  t.is((await getJson(documents, own)).status, 200, 'tokens of the vault still work');
});

test('every refusal of a token has its code', async (t) => {
  const { vault, sign } = await startTrustingVault(t);
  const documents = `${vault.baseUrl}/v1/documents`;
  const refusals = {
    invalid_issuer: { iss: 'https://other.test' },
    invalid_audience: { aud: 'other' },
    token_expired: { exp: 1 },
    invalid_token: { sub: '' },
  };
  for (const [code, changes] of Object.entries(refusals)) {
    assertError(t, await getJson(documents, await sign(changes)), { status: 401, code });
  }
  const noTenant = await getJson(documents, await sign({ tenant_id: 'other' }));
  assertError(t, noTenant, { status: 400, code: 'user_context_missing' });
});

test('without the issuer the vault is degraded but ready, and recovers with it', async (t) => {
  const keyCache = { maxAgeSeconds: 3, refreshSeconds: 1, coolDownSeconds: 1 };
  const { vault, server, sign } = await startTrustingVault(t, { keyCache });
  const documents = `${vault.baseUrl}/v1/documents`;
  const health = async (status: string) => {
    const isSo = async () => {
      const { body } = await getJson(`${vault.baseUrl}/health`);
      return (body as { status: string }).status === status && body;
    };
    return until(isSo, { what: `the status ${status}`, timeoutMs: 60_000 });
  };
  await server.close();
  const isAway = async () => {
    const answer = await getJson(documents, await sign());
    return answer.status !== 200 && answer;
  };
  const answer = await until(isAway, { what: 'the keys to be too old', timeoutMs: 60_000 });
  assertError(t, answer, { status: 503, code: 'jwks_unavailable' });
  const jwks = { status: 'error', error: 'issuer_keys_unavailable' };
  t.like(await health('degraded'), { checks: { jwks } });
  t.is((await getJson(`${vault.baseUrl}/health/ready`)).status, 200);

  await server.open();
  t.truthy(await health('ok'));
  t.is((await getJson(documents, await sign())).status, 200);
});

test('no token reaches the log', async (t) => {
  const { vault, sign } = await startTrustingVault(t);
  const tokens = [await sign(), await sign({ aud: 'other' }), await sign({ nonce: 'n' })];
  for (const token of tokens) await getJson(`${vault.baseUrl}/v1/documents`, token);
  const log = vault.logLines.join('\n');
  t.true(vault.logLines.length > 0);
  for (const token of tokens) t.false(log.includes(token.split('.')[2] ?? ''));
});
