import { randomBytes } from '@noble/hashes/utils.js';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { encodeBase64 } from '../../client/bytes/base64.ts';
import { wrapIdentity } from '../../client/identity/identities.ts';
import { createIdentity } from '../../client/identity/identity.ts';
import {
  createDeviceKey,
  createRekeyKeyPair,
  deriveDeviceKeyPair,
  wrapForDevice,
  type DeviceKey,
} from '../../client/keys/device-key.ts';
import { sealKeyring } from '../../client/keys/keyring.ts';
import type { VaultSession } from '../../client/session.ts';
import { createTestMemory } from '../support/client/memory-store.ts';
import { createVictim, logInWith, rekey, type Victim } from './liar.ts';

const test = anyTest as TestFn<{ readonly victim: Victim }>;

const masterEnvelope = /^GET .*\/master-envelope$/;
const deviceEnvelope = /^GET .*\/device-envelope\/[^/]+$/;

test.beforeEach(async (t) => {
  t.context = { victim: await createVictim() };
});

/** Adds a device and returns its key, and what it remembers of the vault. */
async function addDevice(victim: Victim) {
  const device = createDeviceKey();
  await victim.session.devices.add({ ...device, name: 'Laptop', platform: 'Firefox' });
  const memory = createTestMemory();
  const session = await logInWith(victim, memory);
  await session.envelopes.openMasterKeysWithDevice(device);
  return { device, memory };
}

/** Returns the responses with the envelopes as the vault tells them now, for a later lie. */
async function recordEnvelopes({ session: { http } }: Victim, deviceId?: string) {
  const read = async (path: string): Promise<unknown> => {
    const { body } = await http.send({ method: 'GET', path: `/v1/crypto/keys/${path}` });
    return body;
  };
  return {
    master: await read('master-envelope'),
    device: deviceId !== undefined && (await read(`device-envelope/${deviceId}`)),
  };
}

async function assertRefused(t: ExecutionContext, work: Promise<unknown>, code: string) {
  await t.throwsAsync(work, { code });
}

test('the master envelope and keyring of before a rekey', async (t) => {
  const { victim } = t.context;
  const { master } = await recordEnvelopes(victim);
  await rekey(victim);
  victim.lie(masterEnvelope, () => master);
  await assertRefused(t, victim.session.envelopes.openMasterKeys(), 'invalid_envelope');
  const anew = await logInWith(victim, createTestMemory());
  await assertRefused(t, anew.envelopes.openMasterKeys(), 'invalid_envelope');
});

test('the present master envelope with the keyring of an earlier rekey, or none', async (t) => {
  const { victim } = t.context;
  await rekey(victim);
  const { keyring } = (await recordEnvelopes(victim)).master as { keyring: string };
  await rekey(victim);
  victim.lie(masterEnvelope, (body) => Object.assign(body, { keyring }));
  const anew = await logInWith(victim, createTestMemory());
  await assertRefused(t, anew.envelopes.openMasterKeys(), 'invalid_envelope');
  victim.tellTruth();
  victim.lie(masterEnvelope, (body) => Object.assign(body, { keyring: null }));
  const later = await logInWith(victim, createTestMemory());
  await assertRefused(t, later.envelopes.openMasterKeys(), 'invalid_envelope');
});

test('the envelope of a device of before a rekey', async (t) => {
  const { victim } = t.context;
  const { device, memory } = await addDevice(victim);
  const before = await recordEnvelopes(victim, device.deviceId);
  await rekey(victim);
  const session = await logInWith(victim, memory);
  await session.envelopes.openMasterKeys();
  const open = async () =>
    (await logInWith(victim, memory)).envelopes.openMasterKeysWithDevice(device);
  await t.notThrowsAsync(open());
  victim.lie(deviceEnvelope, () => before.device);
  await t.throwsAsync(open(), { name: 'ClientError' });
  victim.lie(masterEnvelope, () => before.master);
  await assertRefused(t, open(), 'rolled_back');
});

/** Makes what whoever has an earlier master key can make: a later one, for a device. */
async function forgeRekey(
  victim: Victim,
  { deviceId, deviceKey }: DeviceKey,
  earlierKey: Uint8Array<ArrayBuffer>,
) {
  const chosen = randomBytes(32);
  const pair = createRekeyKeyPair();
  const { publicKey } = await deriveDeviceKeyPair(deviceKey);
  const keyring = await sealKeyring(
    { masterKey: chosen, rekeyKey: pair.publicKey },
    {
      earlierKeys: [earlierKey],
      earlierIdentities: [],
      publicKeys: new Map([[deviceId, publicKey]]),
    },
  );
  const envelope = await wrapForDevice(
    pair,
    { deviceId, publicKey },
    { masterKey: chosen, generation: 2 },
  );
  victim.lie(deviceEnvelope, (body) =>
    Object.assign(body, { encryptedEnvelope: encodeBase64(envelope) }),
  );
  victim.lie(masterEnvelope, (body) => Object.assign(body, { keyring }));
  return { chosen };
}

test('a master key of the vault’s choice, to a device that remembers the one before', async (t) => {
  const { victim } = t.context;
  const { device, memory } = await addDevice(victim);
  await forgeRekey(victim, device, victim.masterKey);
  const openWithDevice = (session: VaultSession) =>
    session.envelopes.openMasterKeysWithDevice(device);
  await assertRefused(t, openWithDevice(victim.session), 'rekey_unconfirmed');
  const session = await logInWith(victim, memory);
  await assertRefused(t, openWithDevice(session), 'rekey_unconfirmed');
  await assertRefused(t, session.envelopes.openMasterKeys(), 'invalid_envelope');
});

test('a master key of the vault’s choice in place of the one of the same rekey', async (t) => {
  const { victim } = t.context;
  const { device, memory } = await addDevice(victim);
  const earlierKey = victim.masterKey.slice();
  await rekey(victim);
  const session = await logInWith(victim, memory);
  await session.envelopes.openMasterKeys();
  await forgeRekey(victim, device, earlierKey);
  const later = await logInWith(victim, memory);
  await t.throwsAsync(later.envelopes.openMasterKeysWithDevice(device), {
    code: 'store_of_another_user',
  });
  await assertRefused(t, session.envelopes.openMasterKeysWithDevice(device), 'rolled_back');
});

test('an honest rekey is confirmed by the password, once for each device', async (t) => {
  const { victim } = t.context;
  const { device, memory } = await addDevice(victim);
  await rekey(victim);
  const session = await logInWith(victim, memory);
  await assertRefused(t, session.envelopes.openMasterKeysWithDevice(device), 'rekey_unconfirmed');
  const keys = await session.envelopes.openMasterKeys();
  t.deepEqual(await session.envelopes.openMasterKeysWithDevice(device), keys);
  const later = await logInWith(victim, memory);
  t.deepEqual(await later.envelopes.openMasterKeysWithDevice(device), keys);
});

test('an honest rekey is confirmed by the fingerprint of the new identity', async (t) => {
  const { victim } = t.context;
  const { device, memory } = await addDevice(victim);
  const { fingerprint: earlier } = await victim.session.enableSharing();
  await rekey(victim);
  const { fingerprint } = await victim.session.enableSharing();
  const { envelopes } = await logInWith(victim, memory);
  const open = (confirmed: string) =>
    envelopes.openMasterKeysWithDevice(device, { fingerprint: confirmed });
  await assertRefused(t, open(earlier), 'rekey_unconfirmed');
  t.deepEqual(await open(fingerprint), await victim.session.envelopes.openMasterKeys());
  await t.notThrowsAsync(envelopes.openMasterKeysWithDevice(device));
});

test('a master key of the vault’s choice, with the identity that the user compared', async (t) => {
  const { victim } = t.context;
  const { device, memory } = await addDevice(victim);
  const earlierKey = victim.masterKey.slice();
  await rekey(victim);
  const { fingerprint } = await victim.session.enableSharing();
  const { chosen } = await forgeRekey(victim, device, earlierKey);
  const { envelopes } = await logInWith(victim, memory);
  const open = () => envelopes.openMasterKeysWithDevice(device, { fingerprint });
  await assertRefused(t, open(), 'invalid_envelope');
  const forged = await wrapIdentity(chosen, await createIdentity());
  victim.lie(/^GET .*\/keys\/sharing$/, (body) => Object.assign(body, forged));
  await assertRefused(t, open(), 'rekey_unconfirmed');
});

test('a revoked device that the vault lists again gets no key at a rekey', async (t) => {
  const { victim } = t.context;
  const { session, credentials } = victim;
  const device = createDeviceKey();
  const stolen = await logInWith(victim, createTestMemory());
  await stolen.devices.add({ ...device, name: 'Stolen', platform: 'Firefox' });
  const list = /^GET .*\/keys\/devices$/;
  const { body } = await session.http.send({ method: 'GET', path: '/v1/crypto/keys/devices' });
  await session.devices.revoke(device.deviceId);
  victim.lie(list, () => body);
  const draft = await session.draftRekey({ password: credentials.password, keepPassword: true });
  t.deepEqual(draft.kept, []);
  t.deepEqual(
    draft.revoked.map(({ deviceId }) => deviceId),
    [device.deviceId],
  );
  await draft.confirm(draft.words);
});
