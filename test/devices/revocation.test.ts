import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { assertError } from '../support/http/error-body.ts';
import { countStatuses } from '../support/documents/files.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import type { Vault } from '../support/vault/vault.ts';
import { entriesOf } from './entries.ts';
import { anyEnvelope, ask, createDevice, createOwner } from '../support/accounts/owner.ts';

let vault: Vault;
let sql: Sql;

test.before(async () => {
  vault = sharedVault();
  sql = createSql(vault);
});

const notFound = { status: 404, code: 'not_found' };
const blacklisted = { status: 403, code: 'device_blacklisted' };

test('a revoked device cannot be used or registered again', async (t) => {
  const { token, userId } = await createOwner(vault);
  const keeper = await createDevice(vault, token);
  const deviceId = await createDevice(vault, token);
  const reason = `stolen ${randomUUID()}`;
  const revoke = () => ask(vault, token, 'DELETE', `/devices/${deviceId}`, { json: { reason } });
  const revoked = await revoke();
  t.is(revoked.status, 204);
  t.is(revoked.text, '');
  t.is((await revoke()).status, 204, 'again');

  assertError(t, await ask(vault, token, 'GET', `/device-envelope/${deviceId}`), blacklisted);
  const json = { deviceId, encryptedEnvelope: anyEnvelope() };
  assertError(t, await ask(vault, token, 'POST', '/device-envelope', { json }), blacklisted);
  const change = { json: { encryptedInfo: randomBytes(40).toString('base64') } };
  assertError(t, await ask(vault, token, 'PUT', `/devices/${deviceId}`, change), blacklisted);
  const { body } = await ask(vault, token, 'GET', '/devices');
  t.deepEqual(
    (body as { deviceId: string }[]).map((device) => device.deviceId),
    [keeper],
  );
  t.deepEqual(await sql('select device_id from key_envelopes where user_id = $1', [userId]), [
    { device_id: keeper },
  ]);
  t.deepEqual(await sql('select revoke_reason from devices where device_id = $1', [deviceId]), [
    { revoke_reason: reason },
  ]);
  t.like(await entriesOf(vault, deviceId), [
    { seq: 1, action: 'device.registered' },
    { seq: 2, action: 'device.revoked' },
  ]);
  const removed = await sql(
    `select 1 from audit_entries where user_id = $1 and action = 'envelope.removed'`,
    [userId],
  );
  t.is(removed.length, 1);
});

test('a revocation needs no body, and takes only its documented one', async (t) => {
  const { token } = await createOwner(vault);
  const deviceId = await createDevice(vault, token);
  const revoke = (json: unknown) => ask(vault, token, 'DELETE', `/devices/${deviceId}`, { json });
  const refused = { status: 400, code: 'validation_failed' };
  for (const bad of [
    { reason: '' },
    { reason: 7 },
    { reason: 'x'.repeat(501) },
    { why: 'x' },
    [],
  ]) {
    assertError(t, await revoke(bad), refused, JSON.stringify(bad));
  }
  assertError(t, await ask(vault, token, 'DELETE', `/devices/${randomUUID()}`), notFound);
  assertError(t, await ask(vault, token, 'DELETE', '/devices/jam'), refused);
  t.is((await ask(vault, token, 'GET', `/device-envelope/${deviceId}`)).status, 200);
  t.is((await ask(vault, token, 'DELETE', `/devices/${deviceId}`)).status, 204);
});

test.serial('one of concurrent revocations is recorded', async (t) => {
  // The order of the two ids matters for the order of locks.
  for (let round = 0; round < 4; round += 1) {
    const { token } = await createOwner(vault);
    // The first device binds the session, which would end with it.
    await createDevice(vault, token);
    const devices = [await createDevice(vault, token), await createDevice(vault, token)].sort();
    const deviceId = devices[round % 2] ?? '';
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => ask(vault, token, 'DELETE', `/devices/${deviceId}`)),
    );
    t.deepEqual(countStatuses(answers), { 204: 10 }, JSON.stringify(answers));
    t.is((await entriesOf(vault, deviceId)).length, 2);
  }
});
