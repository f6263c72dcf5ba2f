import { randomUUID } from 'node:crypto';
import test from 'ava';
import { makeLoginsOld } from '../support/accounts/reauth-account.ts';
import {
  anyEnvelope,
  ask,
  createDevice,
  createMaster,
  createOwner,
  logInAgain,
  reauthHeader,
} from '../support/accounts/owner.ts';
import { countStatuses } from '../support/documents/files.ts';
import { assertError } from '../support/http/error-body.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import type { Vault } from '../support/vault/vault.ts';

let vault: Vault;

test.before(async () => {
  vault = sharedVault();
});

const required = { status: 401, code: 'reauth_required' };

const revoke = (token: string, deviceId: string, headers = {}) =>
  ask(vault, token, 'DELETE', `/devices/${deviceId}`, { headers });

test('ways that a thief adds do not make the device that has the key removable', async (t) => {
  const owner = await createOwner(vault);
  const { token } = owner;
  const deviceId = await createDevice(vault, token);
  await makeLoginsOld(vault, owner.userId);
  const json = { encryptedEnvelope: anyEnvelope() };
  for (const path of ['/master-envelope', '/recovery-envelope']) {
    t.is((await ask(vault, token, 'POST', path, { json })).status, 201);
  }
  const decoy = await createDevice(vault, token);
  assertError(t, await revoke(token, deviceId), required);
  t.is((await ask(vault, token, 'GET', `/device-envelope/${deviceId}`)).status, 200);

  t.is((await revoke(token, decoy)).status, 204, 'the device without the key can be removed');
  t.is((await revoke(token, deviceId, await reauthHeader(vault, owner))).status, 204);
});

test('a device beside another way of its user is revoked without a proof', async (t) => {
  const owner = await createOwner(vault);
  const { token } = owner;
  await createMaster(vault, token);
  await createDevice(vault, token);
  // The session is bound to the first device, so that the revocation of this one does not end it.
  const deviceId = await createDevice(vault, token);
  await makeLoginsOld(vault, owner.userId);
  t.is((await revoke(token, deviceId)).status, 204);
  t.is((await revoke(token, deviceId)).status, 204, 'again');
});

test('an unknown device is not found, whether or not a proof is given', async (t) => {
  const owner = await createOwner(vault);
  await createDevice(vault, owner.token);
  await makeLoginsOld(vault, owner.userId);
  const notFound = { status: 404, code: 'not_found' };
  assertError(t, await revoke(owner.token, randomUUID()), notFound);
});

test('concurrent revocations without a proof leave one way', async (t) => {
  const owner = await createOwner(vault);
  const devices = [];
  for (let i = 0; i < 8; i += 1) devices.push(await createDevice(vault, owner.token));
  // No device is bound to this session, so that no revocation ends it.
  const { token } = await logInAgain(vault, owner.account);
  await makeLoginsOld(vault, owner.userId);
  const answers = await Promise.all(devices.map((deviceId) => revoke(token, deviceId)));
  t.deepEqual(countStatuses(answers), { 204: 7, 401: 1 });
  const { body } = await ask(vault, token, 'GET', '/devices');
  t.is((body as unknown[]).length, 1);
});
