import { randomBytes } from '@noble/hashes/utils.js';
import anyTest from 'ava';
import { encodeBase64 } from '../../../client/bytes/base64.ts';
import type { DeviceFinding } from '../../../client/devices/device-log.ts';
import { defaultRetry } from '../../../client/http/retry.ts';
import { createDeviceKey } from '../../../client/keys/device-key.ts';
import type { VaultSession } from '../../../client/session.ts';
import { createTamperedLine } from '../../sharing/tampering.ts';
import { startReadyVault } from '../../support/vault/vault.ts';
import { createBreakingLine } from '../../support/client/breaking-fetch.ts';
import { gather } from '../../support/client/collect.ts';
import { connect, createUser } from '../../support/client/user.ts';

// Serial, because deriving keys from passwords keeps a whole processor busy.
const test = anyTest.serial;

const vault = await startReadyVault();
const line = createTamperedLine();
const { session, credentials, masterKey } = await createUser(vault, connect(vault, line.fetch));
const trustedKeys = await auditKeysOf(session);
/** Device ids that this client added and knows of, in order of addition. */
const added: string[] = [];
anyTest.after.always(() => vault.stop());

async function auditKeysOf({ proofs }: VaultSession): Promise<string[]> {
  const keys = await proofs.keys();
  return keys.filter(({ purpose }) => purpose === 'audit').map(({ fingerprint }) => fingerprint);
}

async function addDevice(name: string) {
  const device = createDeviceKey();
  await session.devices.add({ ...device, name, platform: 'Firefox' });
  added.push(device.deviceId);
  return device;
}

/** Registers a device as an attacker with the user's session would. Returns its id. */
async function slipIn(deviceId: string = crypto.randomUUID()): Promise<string> {
  const json = { deviceId, encryptedEnvelope: encodeBase64(randomBytes(40)) };
  await session.http.send({ method: 'POST', path: '/v1/crypto/keys/device-envelope', json });
  return deviceId;
}

function check(recognised: readonly string[] = added): Promise<DeviceFinding[]> {
  return session.devices.check({ trustedKeys, recognised });
}

test('a device opens the master key with its own key and is listed by its name', async (t) => {
  const device = await addDevice('Zoë’s Laptop');
  const keys = await session.envelopes.openMasterKeysWithDevice(device);
  t.deepEqual(keys, { masterKey, earlierKeys: [] });
  const other = { ...device, deviceKey: randomBytes(32) };
  await t.throwsAsync(session.envelopes.openMasterKeysWithDevice(other), {
    code: 'invalid_envelope',
  });

  const phone = await addDevice('Phone');
  const listed = await gather(session.devices.list({ pageSize: 1 }));
  const find = (deviceId: string) => listed.find((one) => one.deviceId === deviceId);
  t.is(listed.length, 2);
  const label = { name: 'Zoë’s Laptop', platform: 'Firefox' };
  t.like(find(device.deviceId), { label, isCurrent: true });
  t.like(find(phone.deviceId), { isCurrent: false });
  t.is(typeof find(device.deviceId)?.lastUsedAt, 'string');

  const client = connect(vault, line.fetch);
  const onPhone = await client.login({ ...credentials, deviceId: phone.deviceId });
  for await (const { deviceId, isCurrent } of onPhone.devices.list()) {
    t.is(isCurrent, deviceId === phone.deviceId);
  }
  const unknown = client.login({ ...credentials, deviceId: crypto.randomUUID() });
  await t.throwsAsync(unknown, { code: 'device_unknown' });
});

test('the vault sees neither names nor keys of devices', async (t) => {
  const { deviceId, deviceKey } = await addDevice('Secret phone');
  const renamed = { name: 'Hidden phone', platform: 'Linux' };
  await session.devices.rename(deviceId, renamed);
  const listed = await gather(session.devices.list());
  const { label, publicKey } = listed.find((one) => one.deviceId === deviceId) ?? {};
  t.deepEqual(label, renamed);
  t.truthy(publicKey, 'a rekey can still wrap the key for it');
  const sent = line.sent.join('\n');
  t.true(sent.includes(deviceId));
  const secrets = ['Secret', 'Hidden', 'Linux', ...[deviceKey, masterKey].map(encodeBase64)];
  for (const secret of secrets) t.false(sent.includes(secret));
});

test('a device renamed by two concurrent clients has one name and keeps its key', async (t) => {
  const { deviceId } = await addDevice('Bracelet');
  const names = ['Ring', 'Necklace'].map((name) => ({ name, platform: 'Firefox' }));
  const renamed = await Promise.allSettled(
    names.map((label) => session.devices.rename(deviceId, label)),
  );
  for (const one of renamed) {
    if (one.status === 'rejected') t.is(one.reason.code, 'precondition_failed');
  }
  const listed = await gather(session.devices.list());
  const { label, publicKey } = listed.find((one) => one.deviceId === deviceId) ?? {};
  t.true(names.some(({ name }) => name === label?.name));
  t.truthy(publicKey);
  const unknown = session.devices.rename(crypto.randomUUID(), { name: 'Crown', platform: 'none' });
  await t.throwsAsync(unknown, { code: 'not_found' });
});

test('a device is added once although responses are lost', async (t) => {
  const broken = createBreakingLine();
  const retry = { ...defaultRetry, baseDelaySeconds: 0.01 };
  const lossy = await connect(vault, broken.fetch, { retry }).login(credentials);
  const device = createDeviceKey();
  broken.loseFirstAnswers(/./);
  await lossy.devices.add({ ...device, name: 'Tablet', platform: 'Firefox' });
  added.push(device.deviceId);
  t.deepEqual((await lossy.envelopes.openMasterKeysWithDevice(device)).masterKey, masterKey);
  await lossy.devices.add({ ...device, name: 'Tablet', platform: 'Firefox' });
  const taken = { ...device, deviceKey: randomBytes(32), name: 'Thief', platform: 'Firefox' };
  await t.throwsAsync(lossy.devices.add(taken), { code: 'envelope_exists' });
});

test('a revoked device opens nothing and cannot be added again', async (t) => {
  const device = await addDevice('Old phone');
  await session.devices.revoke(device.deviceId, { reason: 'lost' });
  await session.devices.revoke(device.deviceId);
  const opening = session.envelopes.openMasterKeysWithDevice(device);
  await t.throwsAsync(opening, { code: 'device_blacklisted' });
  const again = session.devices.add({ ...device, name: 'Old phone', platform: 'Firefox' });
  await t.throwsAsync(again, { code: 'device_blacklisted' });
  await t.throwsAsync(session.devices.revoke(crypto.randomUUID()), { code: 'not_found' });
});

test('where list, audit log and user agree the check finds nothing', async (t) => {
  t.deepEqual(await check(), []);
});

test('a device that the user never added is found by the list or by the audit log', async (t) => {
  // The vault accepts this id like any other UUID, although it is of no version.
  const deviceId = await slipIn('12345678-1234-0234-0234-123456789abc');
  const notRecognised = [{ kind: 'not_recognised' as const, deviceId }];
  t.deepEqual(await check(), notRecognised);
  await line.tamper('/v1/crypto/keys/devices', without(deviceId), async () => {
    const found = await check();
    t.deepEqual(found, [...notRecognised, { kind: 'not_listed', deviceId }]);
  });
  await session.devices.revoke(deviceId);
  t.deepEqual(await check(), notRecognised, 'also after its revocation');
  added.push(deviceId);
});

test('a vault that withholds entries or devices is detected', async (t) => {
  const { deviceId } = await addDevice('Watch');
  await session.devices.rename(deviceId, { name: 'Clock', platform: 'Firefox' });
  const ofDevice = await entriesOf(deviceId);
  t.is(ofDevice.length, 2);
  const [, registered = ''] = ofDevice;
  for (const [dropped, kinds] of [
    [[registered], ['not_in_log', 'entries_missing']],
    [ofDevice, ['not_in_log']],
  ] as const) {
    await line.tamper('/v1/audit/entries', inEntries(without(...dropped)), async () => {
      t.deepEqual(
        await check(),
        kinds.map((kind) => ({ kind, deviceId })),
      );
    });
  }
  await line.tamper('/v1/crypto/keys/devices', without(deviceId), async () => {
    t.deepEqual(await check(), [{ kind: 'not_listed', deviceId }]);
  });
  await session.devices.revoke(deviceId);
  const listed = (body: object) => [
    ...Object.values(body),
    {
      deviceId,
      encryptedInfo: null,
      version: 1,
      lastUsedAt: null,
      createdAt: new Date().toISOString(),
    },
  ];
  await line.tamper('/v1/crypto/keys/devices', listed, async () => {
    t.deepEqual(await check(), [{ kind: 'listed_though_revoked', deviceId }]);
  });
});

test('what is missing while months are archived is found, and the months are named', async (t) => {
  const { deviceId } = await addDevice('Tablet');
  await session.devices.rename(deviceId, { name: 'Slate', platform: 'Firefox' });
  const [, registered = ''] = await entriesOf(deviceId);
  const archivedMonths = ['2027-01'];
  const archive = (body: object) => ({
    ...inEntries(without(registered))(body),
    archivedMonths,
  });
  await line.tamper('/v1/audit/entries', archive, async () => {
    t.deepEqual(await check(), [
      { kind: 'not_in_log', deviceId, archivedMonths },
      { kind: 'entries_missing', deviceId, archivedMonths },
    ]);
  });
});

test('an entry counts only with a proof under a pinned key', async (t) => {
  const { deviceId } = await addDevice('Camera');
  const [id = ''] = await entriesOf(deviceId);
  const found = [
    { kind: 'entry_invalid', deviceId },
    { kind: 'not_in_log', deviceId },
  ];
  const forge = (body: object) => {
    const proof = body as { entryCanonical: string };
    return { ...proof, entryCanonical: proof.entryCanonical.replace('"seq":1', '"seq":2') };
  };
  await line.tamper(`/v1/audit/proof/${id}`, forge, async () => {
    t.deepEqual(await check(), found);
  });
  const unknownKeys = await session.devices.check({ trustedKeys: [], recognised: added });
  t.true(added.every((one) => unknownKeys.some((finding) => finding.deviceId === one)));
});

test('an entry of another user counts as invalid', async (t) => {
  const other = await createUser(vault, connect(vault));
  const device = createDeviceKey();
  await other.session.devices.add({ ...device, name: 'Other', platform: 'Firefox' });
  const [entry] = await gather(entriesVia(other.session));
  const proof = await other.session.proofs.get(entry?.id ?? '');
  const path = '/v1/audit/entries';
  const smuggled = inEntries((entries) => [...Object.values(entries), entry]);
  const passedOn = connect(vault, async (input, init) => {
    const url = String(input instanceof Request ? input.url : input);
    return url.endsWith(proof.id) ? Response.json(proof) : line.fetch(input, init);
  });
  const watched = await passedOn.login(credentials);
  await line.tamper(path, smuggled, async () => {
    const { deviceId } = device;
    const found = await watched.devices.check({ trustedKeys, recognised: added });
    t.deepEqual(found, [{ kind: 'entry_invalid', deviceId }]);
  });
});

/** Changes the entries in a page of the list of audit entries. */
function inEntries(change: (entries: object) => unknown[]) {
  return (body: object) => ({
    ...body,
    entries: change((body as { readonly entries: object }).entries),
  });
}

function without(...ids: readonly string[]) {
  return (body: object) =>
    Object.values(body).filter(
      ({ id, deviceId }: { id?: string; deviceId?: string }) => !ids.includes(id ?? deviceId ?? ''),
    );
}

/** Returns the ids of the audit entries of a device, newest first. */
async function entriesOf(deviceId: string): Promise<string[]> {
  const entries = await gather(entriesVia(session));
  return entries.filter(({ resource }) => resource.id === deviceId).map(({ id }) => id);
}

async function* entriesVia({ http }: VaultSession) {
  const query = { resourceType: 'device', limit: 1000 };
  const { body } = await http.send({ method: 'GET', path: '/v1/audit/entries', query });
  yield* (body as { entries: { id: string; resource: { id: string } }[] }).entries;
}
