import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { assertError } from '../support/http/error-body.ts';
import { proofHeader } from '../support/accounts/reauth-account.ts';
import { send } from '../support/http/send.ts';
import { connectTo, soon } from '../identity-provider/provider-contract.ts';
import { isWrite } from '../support/mfa/faulty-provider.ts';
import { startFaultyVault } from '../support/mfa/faulty-vault.ts';
import { assertEnabled, codeOf, createMfaUser, mfaActions } from '../support/mfa/mfa-user.ts';
import { createKeyFile } from '../support/vault/key-file.ts';
import { testStack } from '../support/vault/stack.ts';

const direct = () => connectTo(testStack().identityProviderUrl);

test('closing an account removes its user once the provider is there', async (t) => {
  const faulty = await startFaultyVault();
  t.teardown(() => faulty.stop());
  const { vault, provider, sql } = faulty;
  const user = await createMfaUser(vault);
  await user.enable();
  const subject = await direct().findSubject(user.userId, soon());
  t.truthy(subject);
  provider.breakAs(() => 500);
  const closed = await send('DELETE', `${vault.baseUrl}/v1/auth/account`, {
    token: user.token,
    headers: await proofHeader(vault, user),
  });
  t.is(closed.status, 204);
  provider.breakAs(() => undefined);
  await until(
    async () => {
      await sql("update outbox set available_at = now() where kind = 'mfa.forget'");
      return (await sql('select 1 from mfa_users')).length === 0;
    },
    { what: 'the user to be removed', timeoutMs: 60_000, intervalMs: 200 },
  );
  t.is(await direct().findSubject(user.userId, soon()), undefined);
  t.deepEqual(await sql('select 1 from mfa_pending'), []);
});

test('an account closed while its code is being verified leaves no user', async (t) => {
  const faulty = await startFaultyVault();
  t.teardown(() => faulty.stop());
  const { vault, provider, sql } = faulty;
  const user = await createMfaUser(vault);
  const secret = await user.begin();
  const subject = await direct().findSubject(user.userId, soon());
  const written = Promise.withResolvers<void>();
  provider.breakAs((request) => (request.method === 'PUT' ? written.promise : undefined));
  const verified = user.verify(codeOf(secret));
  await provider.faultMet();
  const closed = await send('DELETE', `${vault.baseUrl}/v1/auth/account`, {
    token: user.token,
    headers: await proofHeader(vault, user),
  });
  t.is(closed.status, 204);
  written.resolve();
  t.is((await verified).status, 200, 'the write had begun before');
  await until(
    async () => {
      await sql("update outbox set available_at = now() where kind = 'mfa.forget'");
      return (await sql('select 1 from mfa_users')).length === 0;
    },
    { what: 'the user to be removed', timeoutMs: 60_000, intervalMs: 200 },
  );
  t.is(await direct().findName(subject ?? '', soon()), undefined);
  t.deepEqual(await sql('select 1 from mfa_pending'), []);
  assertError(t, await user.init(), { status: 401, code: 'invalid_token' });
});

test('a user whose creation was not recorded is removed with the account', async (t) => {
  const faulty = await startFaultyVault();
  t.teardown(() => faulty.stop());
  const { vault, sql } = faulty;
  const user = await createMfaUser(vault);
  const subject = await direct().createUser(user.userId, soon());
  await user.begin();
  const rows = await sql('select subject from mfa_users');
  t.deepEqual(rows, [{ subject }]);
  await sql('update mfa_users set subject = null');
  await send('DELETE', `${vault.baseUrl}/v1/auth/account`, {
    token: user.token,
    headers: await proofHeader(vault, user),
  });
  await until(async () => (await sql('select 1 from mfa_users')).length === 0, {
    what: 'the user to be removed',
    timeoutMs: 60_000,
  });
  t.is(await direct().findName(subject, soon()), undefined);
});

test('after a restore of the database MFA is still enabled, and can be disabled', async (t) => {
  const faulty = await startFaultyVault();
  t.teardown(() => faulty.stop());
  const { vault, sql } = faulty;
  const user = await createMfaUser(vault);
  await user.enable();
  await sql('delete from mfa_users');
  assertError(t, await user.init(), { status: 409, code: 'mfa_already_enabled' });
  await assertEnabled(t, user);
  t.deepEqual((await user.disable()).body, { enabled: false });
  await user.enable();
});

test('a user whom the provider has lost goes on with a set-up, or begins anew', async (t) => {
  const faulty = await startFaultyVault();
  t.teardown(() => faulty.stop());
  const { vault } = faulty;
  const user = await createMfaUser(vault);
  await user.enable();
  const subject = await direct().findSubject(user.userId, soon());
  await direct().removeUser(subject ?? '', soon());
  assertError(t, await user.regenerate(), { status: 409, code: 'mfa_not_enabled' });
  const secret = await user.begin();
  const again = await direct().findSubject(user.userId, soon());
  await direct().removeUser(again ?? '', soon());
  const { status, text } = await user.verify(codeOf(secret));
  t.is(status, 200, text);
  await assertEnabled(t, user);
  const known = await direct().findSubject(user.userId, soon());
  await direct().removeUser(known ?? '', soon());
  const notPending = { status: 409, code: 'mfa_not_pending' };
  assertError(t, await user.verify(codeOf(secret, 1)), notPending);
  await user.enable();
  await assertEnabled(t, user);
});

test('maintenance records what took effect, and ends what expired', async (t) => {
  const keys = await createKeyFile();
  t.teardown(() => keys.remove());
  const faulty = await startFaultyVault({ INTERNAL_API_KEYS_FILE: keys.path });
  t.teardown(() => faulty.stop());
  const { vault, provider, sql, mend } = faulty;
  const [lost, expired, fresh, leaver] = await Promise.all([
    createMfaUser(vault),
    createMfaUser(vault),
    createMfaUser(vault),
    createMfaUser(vault),
  ]);
  await leaver.enable();
  const secret = await lost.begin();
  await expired.begin();
  await fresh.begin();
  provider.breakAs((request) => (isWrite(request) ? 'cut' : undefined));
  assertError(t, await lost.verify(codeOf(secret)), {
    status: 503,
    code: 'identity_provider_unavailable',
  });
  await mend(lost);
  await assertEnabled(t, lost);
  const ended =
    "update mfa_pending set expires_at = now() - interval '1 s' where user_id = any($1)";
  await sql(ended, [[lost.userId, expired.userId]]);
  await sql("update mfa_users set change = 'disable' where user_id = $1", [leaver.userId]);

  const collect = async (query = '') => {
    const path = `/v1/internal/maintenance/collect-garbage${query}`;
    const headers = { 'X-Internal-Api-Key': keys.admin };
    const { body } = await send('POST', `${vault.baseUrl}${path}`, { headers });
    return (body as { readonly settledMfaChanges: number }).settledMfaChanges;
  };
  t.is(await collect('?dryRun=true'), 3);
  provider.breakAs(() => 500);
  t.is(await collect(), 0, 'while the provider is away everything waits');
  await mend(lost);
  t.is(await collect(), 3);
  t.is(await collect(), 0);
  t.deepEqual(await mfaActions(vault, lost.userId), ['mfa.started', 'mfa.enabled']);
  t.deepEqual(await mfaActions(vault, expired.userId), ['mfa.started']);
  t.deepEqual(await mfaActions(vault, leaver.userId), ['mfa.started', 'mfa.enabled']);
  await assertEnabled(t, lost);
  await assertEnabled(t, leaver);
  t.deepEqual(await sql('select user_id from mfa_pending'), [{ user_id: fresh.userId }]);
  const [entry] = await sql(
    "select canonical from audit_entries where action = 'mfa.enabled' and user_id = $1",
    [lost.userId],
  );
  t.regex(String(entry?.['canonical']), /"actor":\{"id":null,"type":"system"\}/);
  t.is((await lost.regenerate()).status, 200, 'and so the user gets recovery codes');
});
