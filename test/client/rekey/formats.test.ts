import { randomBytes } from '@noble/hashes/utils.js';
import { readFile } from 'node:fs/promises';
import test from 'ava';
import { z } from 'zod';
import { decodeBase64, encodeBase64 } from '../../../client/bytes/base64.ts';
import { decryptDeviceInfo, encryptDeviceInfo } from '../../../client/devices/device-info.ts';
import {
  createRekeyKeyPair,
  deriveDeviceKeyPair,
  unwrapOnDevice,
  wrapForDevice,
} from '../../../client/keys/device-key.ts';
import { openKeyring, readKeyringHeader, sealKeyring } from '../../../client/keys/keyring.ts';
import { rekeyVectors } from '../../support/client/rekey-vectors.ts';
import { readVectors } from '../../support/client/vectors.ts';

const { earlierKey, masterKey, device, rekey } = rekeyVectors;
const { deviceId, deviceKey, publicKey } = device;
const made = { masterKey, generation: 2 };
const content = {
  earlierKeys: [earlierKey],
  earlierIdentities: [{ privateKey: rekey.earlierPrivateKey, signingSeed: rekey.earlierSeed }],
  publicKeys: new Map([[deviceId, publicKey]]),
};

test('the keyring matches the test vectors', async (t) => {
  const keys = { masterKey, rekeyKey: rekey.publicKey };
  t.is(await sealKeyring(keys, content, rekey.nonce), rekey.keyring);
  t.deepEqual(await openKeyring(masterKey, rekey.keyring), content);
  t.deepEqual(readKeyringHeader(rekey.keyring), { generation: 2, rekeyKey: rekey.publicKey });
});

test('a keyring does not open under another key, nor with a byte changed', async (t) => {
  const bytes = decodeBase64(rekey.keyring);
  for (const index of bytes.keys()) {
    const changed = encodeBase64(bytes.with(index, (bytes[index] ?? 0) ^ 1));
    await t.throwsAsync(openKeyring(masterKey, changed), { code: 'invalid_keyring' });
  }
  await t.throwsAsync(openKeyring(earlierKey, rekey.keyring), { code: 'invalid_keyring' });
  for (const text of ['', 'AQ==', 'no base64']) {
    await t.throwsAsync(openKeyring(masterKey, text), { code: 'invalid_keyring' });
    t.throws(() => readKeyringHeader(text), { code: 'invalid_keyring' });
  }
});

test('a keyring holds more than a thousand keys, and throws when it is full', async (t) => {
  const keys = { masterKey, rekeyKey: rekey.publicKey };
  const many = (count: number) => Array.from({ length: count }, () => randomBytes(32));
  const earlierKeys = many(1000);
  const sealed = await sealKeyring(keys, { ...content, earlierKeys });
  t.deepEqual((await openKeyring(masterKey, sealed)).earlierKeys, earlierKeys);
  const full = sealKeyring(keys, { ...content, earlierKeys: many(1500) });
  await t.throwsAsync(full, { code: 'keyring_full' });
});

test('a device opens its envelope, before and after a rekey', async (t) => {
  t.deepEqual((await deriveDeviceKeyPair(deviceKey)).publicKey, publicKey);
  t.deepEqual(await unwrapOnDevice(device, device.encryptedEnvelope, null), earlierKey);
  t.deepEqual(await unwrapOnDevice(device, rekey.deviceEnvelope, rekey.keyring), masterKey);
  const pair = createRekeyKeyPair(rekey.privateKey);
  t.deepEqual(await wrapForDevice(pair, device, made), rekey.deviceEnvelope);
});

test('the envelope of a device opens for no other key, device or rekey', async (t) => {
  const refused = { code: 'invalid_envelope' };
  const other = { deviceId, deviceKey: randomBytes(32) };
  await t.throwsAsync(unwrapOnDevice(other, device.encryptedEnvelope, null), refused);
  await t.throwsAsync(unwrapOnDevice(other, rekey.deviceEnvelope, rekey.keyring), refused);
  const renamed = { deviceId: crypto.randomUUID(), deviceKey };
  await t.throwsAsync(unwrapOnDevice(renamed, rekey.deviceEnvelope, rekey.keyring), refused);
  await t.throwsAsync(unwrapOnDevice(device, rekey.deviceEnvelope, null), refused);
  const later = { masterKey, rekeyKey: createRekeyKeyPair().publicKey };
  const keyring = await sealKeyring(later, content);
  await t.throwsAsync(unwrapOnDevice(device, rekey.deviceEnvelope, keyring), refused);
  const weak = { deviceId, publicKey: new Uint8Array(32) };
  await t.throwsAsync(wrapForDevice(createRekeyKeyPair(), weak, made), refused);
});

test('the encrypted name of a device matches the test vectors', async (t) => {
  const keys = { masterKey: earlierKey, deviceId };
  t.is(await encryptDeviceInfo(keys, device.info, device.nonce), device.encryptedInfo);
  t.deepEqual(await decryptDeviceInfo(keys, device.encryptedInfo), device.info);
});

test('the encrypted name of a device is bound to it, and its length reveals nothing', async (t) => {
  const refused = { code: 'invalid_device_info' };
  const keys = { masterKey: earlierKey, deviceId };
  const moved = { masterKey: earlierKey, deviceId: crypto.randomUUID() };
  await t.throwsAsync(decryptDeviceInfo(moved, device.encryptedInfo), refused);
  const wrongKey = { masterKey, deviceId };
  await t.throwsAsync(decryptDeviceInfo(wrongKey, device.encryptedInfo), refused);
  for (const text of ['', 'AQ==', 'no base64']) {
    await t.throwsAsync(decryptDeviceInfo(keys, text), refused);
  }
  const short = await encryptDeviceInfo(keys, { ...device.info, name: '' });
  t.is(short.length, device.encryptedInfo.length);
  const long = encryptDeviceInfo(keys, { ...device.info, name: 'x'.repeat(700) });
  await t.throwsAsync(long, { instanceOf: TypeError });
});

test('the values printed in docs/formats.md are those of the test vectors', async (t) => {
  const formats = await readFile(new URL('../../../docs/formats.md', import.meta.url), 'utf8');
  const joined = formats.replaceAll(/\s/g, '');
  const Group = z.record(z.string(), z.unknown());
  const { recovery, device, rekey, ...keys } = await readVectors(
    'rekey.json',
    z.looseObject({ recovery: Group, device: Group, rekey: Group }),
  );
  const { typed: _typed, ...printedOfRecovery } = recovery;
  const values = [printedOfRecovery, device, rekey, keys].flatMap((group) => Object.values(group));
  const texts = values.filter((value) => typeof value === 'string');
  t.is(texts.length, 22);
  for (const text of texts) t.true(joined.includes(text.replaceAll(' ', '')), text);
});
