import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { pauseAt, untilWaiting } from '../../support/accounts/paused-statement.ts';
import { inventAccount } from '../../support/accounts/test-account.ts';
import {
  anyEnvelope,
  ask,
  createDevice,
  logInAgain,
  logInAt,
  reauthHeader,
} from '../../support/accounts/owner.ts';
import { assertError } from '../../support/http/error-body.ts';
import { send } from '../../support/http/send.ts';
import { connectAs } from '../../support/accounts/two-tenants.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import { logInWith, stateOf } from './credentials-state.ts';
import { createRecoverable, recoveryFields } from '../../support/accounts/recovery-account.ts';
import { sessionIdOf } from '../../support/accounts/sessions.ts';

let vault: TestVault;

test.beforeEach(async () => {
  vault = await startReadyVault();
});
test.afterEach.always(() => vault.stop());

function changeOf(email: string, deviceIds: readonly string[]) {
  const next = inventAccount(email);
  const { saltHex: salt, verifierHex: verifier } = next;
  const json = {
    salt,
    verifier,
    masterEnvelope: anyEnvelope(),
    recovery: { encryptedEnvelope: anyEnvelope(), ...recoveryFields(inventAccount()) },
    devices: deviceIds.map((deviceId) => ({ deviceId, encryptedEnvelope: anyEnvelope() })),
    keyring: randomBytes(60).toString('base64'),
  };
  return { next, json };
}

const put = (token: string, json: object, headers: Record<string, string>) =>
  send('PUT', `${vault.baseUrl}/v1/auth/credentials`, { token, json, headers });

test.serial('exactly one of concurrent changes wins, and is applied completely', async (t) => {
  const owner = await createRecoverable(vault);
  const { account, userId } = owner;
  const deviceId = await createDevice(vault, owner.token);
  const owners = [owner, await logInAgain(vault, account), owner, await logInAgain(vault, account)];
  const changes = owners.map(() => changeOf(account.email, [deviceId]));
  const headers = await Promise.all(owners.map((each) => reauthHeader(vault, each)));
  const pause = await pauseAt(vault, 'update on key_envelopes');
  const requests = owners.map(({ token }, i) =>
    put(token, changes[i]?.json ?? {}, headers[i] ?? { 'X-Reauth-Token': '' }),
  );
  await untilWaiting(vault, requests.length);
  await pause.end();
  const answers = await Promise.all(requests);
  const winners = answers.flatMap(({ status }, i) => (status === 204 ? [i] : []));
  t.is(winners.length, 1);
  for (const answer of answers.filter(({ status }) => status !== 204)) {
    assertError(t, answer, { status: 412, code: 'precondition_failed' });
  }
  const won = changes[winners[0] ?? 0];
  const { envelopes, credentials } = await stateOf(vault, userId);
  t.like(envelopes['MASTER'], { encrypted_envelope: won?.json.masterEnvelope, version: 2 });
  t.like(envelopes['RECOVERY'], { encrypted_envelope: won?.json.recovery.encryptedEnvelope });
  t.like(envelopes[deviceId], { encrypted_envelope: won?.json.devices[0]?.encryptedEnvelope });
  t.like(credentials, [
    { method: 'password', verifier: won?.json.verifier },
    { method: 'recovery', verifier: won?.json.recovery.recoveryVerifier },
  ]);
});

test.serial('a device added during a rekey is refused rather than left behind', async (t) => {
  const owner = await createRecoverable(vault);
  const { account, userId } = owner;
  const elsewhere = await logInAgain(vault, account);
  const { json } = changeOf(account.email, []);
  const headers = await reauthHeader(vault, owner);
  const pause = await pauseAt(vault, 'update on key_envelopes');
  const changing = put(owner.token, json, headers);
  await untilWaiting(vault, 1);
  const device = { deviceId: randomUUID(), encryptedEnvelope: anyEnvelope() };
  const adding = ask(vault, elsewhere.token, 'POST', '/device-envelope', { json: device });
  await untilWaiting(vault, 2);
  await pause.end();
  t.is((await changing).status, 204);
  assertError(t, await adding, { status: 401, code: 'invalid_token' });
  t.deepEqual(Object.keys((await stateOf(vault, userId)).envelopes).sort(), ['MASTER', 'RECOVERY']);
});

test.serial('a device that was added just before makes the rekey incomplete', async (t) => {
  const owner = await createRecoverable(vault);
  const { account, userId, token } = owner;
  const before = await stateOf(vault, userId);
  const { json } = changeOf(account.email, []);
  const headers = await reauthHeader(vault, owner);
  const pause = await pauseAt(vault, 'insert on key_envelopes');
  const device = { deviceId: randomUUID(), encryptedEnvelope: anyEnvelope() };
  const adding = ask(vault, token, 'POST', '/device-envelope', { json: device });
  await untilWaiting(vault, 1);
  const changing = put(token, json, headers);
  await untilWaiting(vault, 2);
  await pause.end();
  t.is((await adding).status, 201);
  assertError(t, await changing, { status: 400, code: 'rekey_incomplete' });
  t.deepEqual((await stateOf(vault, userId)).credentials, before.credentials);
  t.is(await logInWith(vault, account), 200);
});

test.serial('sessions that two requests end concurrently cause no deadlock', async (t) => {
  const owner = await createRecoverable(vault);
  const { account } = owner;
  // The device binds both sessions.
  const deviceId = await createDevice(vault, owner.token);
  const { body } = await logInAt(vault, account, deviceId);
  const { accessToken: newer } = body as { accessToken: string };
  const elsewhere = await logInAgain(vault, account);
  const headers = await reauthHeader(vault, owner);
  const { saltHex: salt, verifierHex: verifier } = inventAccount(account.email);

  const holder = await connectAs(vault.databases.admin);
  t.teardown(() => holder.end());
  await holder.query('begin');
  const older = sessionIdOf(owner.token);
  await holder.query('select 1 from login_sessions where id = $1 for update', [older]);
  const revoking = ask(vault, elsewhere.token, 'DELETE', `/devices/${deviceId}`);
  await untilWaiting(vault, 1);
  const changing = put(newer, { salt, verifier, masterEnvelope: anyEnvelope() }, headers);
  await untilWaiting(vault, 2);
  await holder.query('commit');

  t.is((await revoking).status, 204);
  assertError(t, await changing, { status: 401, code: 'invalid_token' });
  t.is(await logInWith(vault, account), 200, 'the password is unchanged');
});

test.serial('a change whose connection breaks halfway changes nothing', async (t) => {
  const owner = await createRecoverable(vault);
  const { account, userId, token } = owner;
  const deviceId = await createDevice(vault, token);
  const before = await stateOf(vault, userId);
  const { json } = changeOf(account.email, [deviceId]);
  const headers = await reauthHeader(vault, owner);
  const pause = await pauseAt(vault, 'update on login_sessions');
  const elsewhere = put(token, json, headers);
  await untilWaiting(vault, 1);
  await createSql(vault)(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  );
  t.is((await elsewhere).status, 503);
  await pause.end();
  t.deepEqual(await stateOf(vault, userId), before);
  const entries = await createSql(vault)(
    `select 1 from audit_entries where user_id = $1 and action = 'envelope.replaced'`,
    [userId],
  );
  t.deepEqual(entries, []);
  await until(async () => (await logInWith(vault, account)) === 200, {
    what: 'the old password to work',
    timeoutMs: 60_000,
  });
});
