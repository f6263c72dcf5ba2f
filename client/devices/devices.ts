import { z } from 'zod';
import { encodeBase64 } from '../bytes/base64.ts';
import { wipe, type Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { proofHeaders, type FreshProof } from '../http/fresh-proof.ts';
import type { Http } from '../http/http.ts';
import { listPages } from '../http/pages.ts';
import { deviceEnvelopeRoute } from '../keys/device-envelope.ts';
import { deriveDeviceKeyPair, type DeviceKey } from '../keys/device-key.ts';
import type { Envelopes, OpenedKeyring } from '../keys/envelopes.ts';
import { wrapMasterKey } from '../keys/master-key-wrap.ts';
import { openWithAny, presentKeyOf } from '../keys/master-keys.ts';
import { storeEnvelope } from '../keys/store-envelope.ts';
import type { Proofs } from '../proofs/proofs.ts';
import { hasCode } from '../errors/vault-error.ts';
import { decryptDeviceInfo, encryptDeviceInfo, type DeviceInfo } from './device-info.ts';
import { checkDeviceLog, type DeviceFinding, type DeviceLogOptions } from './device-log.ts';

const routePath = '/v1/crypto/keys/devices';

const DeviceItem = z.object({
  /**
   * Accepts any UUID that the vault accepts, even without a version, so that an unusual id does not
   * make the whole list fail.
   */
  deviceId: z.guid(),
  encryptedInfo: z.string().nullable(),
  /** Version of the encrypted description. */
  version: z.int(),
  lastUsedAt: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
});
type DeviceItem = z.output<typeof DeviceItem>;

/** The name and platform of a device. */
export type DeviceLabel = Pick<DeviceInfo, 'name' | 'platform'>;

export interface Device extends Omit<DeviceItem, 'encryptedInfo'> {
  /**
   * Undefined if the device has no description, or if the description cannot be decrypted, because
   * another client or another person added the device.
   */
  readonly label: DeviceLabel | undefined;
  /**
   * The device's X25519 public key, 32 bytes. Undefined unless the present keyring contains it, or
   * a description that is encrypted under the present master key; without it, a rekey cannot keep
   * the device.
   */
  readonly publicKey: Bytes | undefined;
  /** Whether the login session is bound to this device, since the login or since `add`. */
  readonly isCurrent: boolean;
}

export interface RevokeOptions {
  /** The reason, which the vault can read. */
  readonly reason?: string;
  readonly proof?: FreshProof;
}

export interface Devices {
  /**
   * Registers a device, and binds the login session to it unless the session is already bound to a
   * device. Save the key from `createDeviceKey` durably before the call. Repeating the call with
   * the same key changes nothing. To bind another login session, log in with the device's id.
   * Throws VaultError 409 envelope_exists if the id belongs to a device with another key, 403
   * device_blacklisted or 429 quota_exceeded.
   */
  add(device: DeviceKey & DeviceLabel): Promise<void>;
  /** Returns the id of the device that the login session is bound to; undefined if it is not. */
  current(): string | undefined;
  /**
   * Lists the devices that were not revoked, in the order of their ids. Throws what
   * `Envelopes.openKeyring` throws.
   */
  list(options?: { readonly pageSize?: number }): AsyncGenerator<Device, void, void>;
  /**
   * Renames a device: encrypts and stores a new name and platform. Throws VaultError 404 not_found,
   * 403 device_blacklisted, or 412 precondition_failed if another client renames the device at the
   * same time.
   */
  rename(deviceId: string, label: DeviceLabel): Promise<void>;
  /**
   * Revokes a device permanently: deletes its envelope and ends its login sessions, including this
   * session if it is bound to the device. Throws VaultError 404 not_found, and session_ended if
   * this session's own device may have been revoked by a request whose response was lost. Throws
   * VaultError 401 reauth_required if no other envelope opens the master key, unless `proof` is
   * given or the login was within five minutes.
   */
  revoke(deviceId: string, options?: RevokeOptions): Promise<void>;
  /**
   * Compares the vault's list of devices, the signed audit entries about devices and the devices
   * that the user recognises; see `checkDeviceLog` for what an empty result means.
   */
  check(options: DeviceLogOptions): Promise<DeviceFinding[]>;
}

export function createDevices({
  http,
  envelopes,
  proofs,
  deviceId: loggedInFor,
}: {
  readonly http: Http;
  readonly envelopes: Pick<Envelopes, 'openKeyring' | 'openMasterKeysWithDevice'>;
  readonly proofs: Pick<Proofs, 'get'>;
  /** The device that the session was bound to at login. */
  readonly deviceId: string | undefined;
}): Devices {
  let boundTo = loggedInFor?.toLowerCase();

  async function* list(
    options: { readonly pageSize?: number } = {},
  ): AsyncGenerator<Device, void, void> {
    const keyring = await envelopes.openKeyring();
    for await (const item of listPages(http, DeviceItem, routePath, options.pageSize)) {
      yield await openDevice(keyring, item);
    }
  }

  async function openDevice(
    keyring: OpenedKeyring,
    { encryptedInfo, ...item }: DeviceItem,
  ): Promise<Device> {
    const { deviceId } = item;
    const info = await findInfo(keyring, deviceId, encryptedInfo);
    const vouchedFor = info?.isPresent === true ? info.publicKey : undefined;
    return {
      ...item,
      label: info === undefined ? undefined : { name: info.name, platform: info.platform },
      publicKey: vouchedFor ?? keyring.publicKeys.get(deviceId),
      isCurrent: deviceId === boundTo,
    };
  }

  /**
   * Resolves with whether the vault's envelope for this device can be opened with the device's key.
   */
  async function opensBy(device: DeviceKey): Promise<boolean> {
    try {
      const { masterKey } = await envelopes.openMasterKeysWithDevice(device);
      wipe(masterKey);
      return true;
    } catch (error) {
      if (error instanceof ClientError && error.code === 'invalid_envelope') return false;
      throw error;
    }
  }

  async function add({
    deviceId,
    deviceKey,
    name,
    platform,
  }: DeviceKey & DeviceLabel): Promise<void> {
    const keyring = await envelopes.openKeyring();
    const { masterKey } = keyring;
    const { publicKey, privateKey } = await deriveDeviceKeyPair(deviceKey);
    wipe(privateKey);
    const json = {
      deviceId,
      encryptedEnvelope: encodeBase64(await wrapMasterKey(deviceKey, presentKeyOf(keyring))),
      encryptedInfo: await encryptDeviceInfo(
        { masterKey, deviceId },
        { name, platform, publicKey },
      ),
    };
    wipe(masterKey);
    try {
      const path = deviceEnvelopeRoute;
      await storeEnvelope(http, { method: 'POST', path, repeatable: true, json });
    } catch (error) {
      if (!hasCode(error, 'envelope_exists')) throw error;
      // The vault may have accepted an earlier attempt whose response was lost.
      if (!(await opensBy({ deviceId, deviceKey }))) throw error;
    }
    boundTo ??= deviceId.toLowerCase();
  }

  return {
    current: () => boundTo,
    list,
    add,

    async rename(deviceId, label) {
      const { publicKey, version } = (await find(list(), deviceId)) ?? {};
      const { masterKey } = await envelopes.openKeyring();
      const keys = { masterKey, deviceId };
      const encryptedInfo = await encryptDeviceInfo(keys, { ...label, publicKey });
      wipe(masterKey);
      // The request is sent even if the device is not listed: the vault's error then says whether
      // the device is unknown or revoked.
      const headers = { 'if-match': version === undefined ? '*' : `"${version}"` };
      const path = devicePath(deviceId);
      await http.send({ method: 'PUT', path, headers, json: { encryptedInfo } });
    },

    async revoke(deviceId, { reason, proof } = {}) {
      const json = reason === undefined ? undefined : { reason };
      const headers = proofHeaders(proof);
      await http.send({ method: 'DELETE', path: devicePath(deviceId), headers, json });
    },

    async check(options) {
      const listed = [];
      for await (const item of listPages(http, DeviceItem, routePath)) listed.push(item);
      return checkDeviceLog({ http, proofs }, listed, options);
    },
  };
}

function devicePath(deviceId: string): string {
  return `${routePath}/${encodeURIComponent(deviceId)}`;
}

async function find(devices: AsyncIterable<Device>, deviceId: string): Promise<Device | undefined> {
  for await (const device of devices) {
    if (device.deviceId === deviceId.toLowerCase()) return device;
  }
  return undefined;
}

/**
 * Decrypts the description of a device. Resolves with undefined if there is none or it cannot be
 * decrypted. `isPresent` is false if the description is encrypted under an earlier master key,
 * which other people may know.
 */
async function findInfo(
  keyring: OpenedKeyring,
  deviceId: string,
  encryptedInfo: string | null,
): Promise<(DeviceInfo & { readonly isPresent: boolean }) | undefined> {
  if (encryptedInfo === null) return undefined;
  try {
    return await openWithAny(keyring, async (masterKey) => {
      const info = await decryptDeviceInfo({ masterKey, deviceId }, encryptedInfo);
      return { ...info, isPresent: masterKey === keyring.masterKey };
    });
  } catch (error) {
    if (error instanceof ClientError) return undefined;
    throw error;
  }
}
