import { z } from 'zod';
import { encodeBase64 } from '../bytes/base64.ts';
import { wipe, type Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { wrapKey } from '../crypto/aes-kw.ts';
import type { Http } from '../http/http.ts';
import { listPages } from '../http/pages.ts';
import { deviceEnvelopeRoute } from '../keys/device-envelope.ts';
import { deriveDeviceKeyPair, type DeviceKey } from '../keys/device-key.ts';
import type { Envelopes, OpenedKeyring } from '../keys/envelopes.ts';
import { openWithAny } from '../keys/master-keys.ts';
import { storeEnvelope } from '../keys/store-envelope.ts';
import type { Proofs } from '../proofs/proofs.ts';
import { hasCode } from '../errors/vault-error.ts';
import { decryptDeviceInfo, encryptDeviceInfo, type DeviceInfo } from './device-info.ts';
import { checkDeviceLog, type DeviceFinding, type DeviceLogOptions } from './device-log.ts';

const routePath = '/v1/crypto/keys/devices';

const DeviceItem = z.object({
  /** Any UUID that the vault takes: one of no version must not hide the list. */
  deviceId: z.guid(),
  encryptedInfo: z.string().nullable(),
  /** Of its description. */
  version: z.int(),
  lastUsedAt: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
});
type DeviceItem = z.output<typeof DeviceItem>;

/** What a device is called. */
export type DeviceLabel = Pick<DeviceInfo, 'name' | 'platform'>;

export interface Device extends Omit<DeviceItem, 'encryptedInfo'> {
  /** Undefined where it does not open: another client, or somebody else, added the device. */
  readonly label: DeviceLabel | undefined;
  /**
   * Undefined unless one who had the present master key, or made it, vouches for it: a rekey cannot
   * keep the device then.
   */
  readonly publicKey: Bytes | undefined;
  /** Whether it is this one: the session logged in for it, or it was added here. */
  readonly isCurrent: boolean;
}

export interface Devices {
  /**
   * Registers a device by a key from `createDeviceKey` that is kept already, and binds the session to
   * it unless it is bound. Done again with the same key, it changes nothing, and another session is
   * bound by a login for the device. VaultError envelope_exists for the id of a device with another
   * key, device_blacklisted or quota_exceeded.
   */
  add(device: DeviceKey & DeviceLabel): Promise<void>;
  /** Those that were not revoked, by id. */
  list(options?: { pageSize?: number }): AsyncGenerator<Device, void, void>;
  /** VaultError not_found or device_blacklisted; precondition_failed where another renames it just now. */
  rename(deviceId: string, label: DeviceLabel): Promise<void>;
  /**
   * For good: its envelope goes and its sessions end, this one too if it is its own; it throws
   * session_ended where that may have happened already, its answer being lost. VaultError not_found.
   */
  revoke(deviceId: string, reason?: string): Promise<void>;
  /** The list against its signed log; what no finding means, `checkDeviceLog` says. */
  check(options: DeviceLogOptions): Promise<DeviceFinding[]>;
}

export function createDevices({
  http,
  envelopes,
  proofs,
  deviceId: loggedInFor,
}: {
  http: Http;
  envelopes: Pick<Envelopes, 'openKeyring' | 'openMasterKeysWithDevice'>;
  proofs: Pick<Proofs, 'get'>;
  /** What the session was bound to at login. */
  deviceId: string | undefined;
}): Devices {
  let boundTo = loggedInFor?.toLowerCase();

  async function* list(options: { pageSize?: number } = {}): AsyncGenerator<Device, void, void> {
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
    const vouchedFor = info?.isPresent ? info.publicKey : undefined;
    return {
      ...item,
      label: info && { name: info.name, platform: info.platform },
      publicKey: vouchedFor ?? keyring.publicKeys.get(deviceId),
      isCurrent: deviceId === boundTo,
    };
  }

  /** Whether the device that has this id has this key. */
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

  return {
    list,

    async add({ deviceId, deviceKey, name, platform }) {
      const { masterKey } = await envelopes.openKeyring();
      const { publicKey, privateKey } = await deriveDeviceKeyPair(deviceKey);
      wipe(privateKey);
      const json = {
        deviceId,
        encryptedEnvelope: encodeBase64(await wrapKey(deviceKey, masterKey)),
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
        // The answer to an earlier try may be lost.
        if (!(await opensBy({ deviceId, deviceKey }))) throw error;
      }
      boundTo ??= deviceId.toLowerCase();
    },

    async rename(deviceId, label) {
      const { publicKey, version } = (await find(list(), deviceId)) ?? {};
      const { masterKey } = await envelopes.openKeyring();
      const keys = { masterKey, deviceId };
      const encryptedInfo = await encryptDeviceInfo(keys, { ...label, publicKey });
      wipe(masterKey);
      // Of one that is not listed the server says why.
      const headers = { 'if-match': version === undefined ? '*' : `"${version}"` };
      const path = devicePath(deviceId);
      await http.send({ method: 'PUT', path, headers, json: { encryptedInfo } });
    },

    async revoke(deviceId, reason) {
      const json = reason === undefined ? undefined : { reason };
      await http.send({ method: 'DELETE', path: devicePath(deviceId), json });
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

/** `isPresent` unless an earlier master key opens it, which others may have by now. */
async function findInfo(
  keyring: OpenedKeyring,
  deviceId: string,
  encryptedInfo: string | null,
): Promise<(DeviceInfo & { isPresent: boolean }) | undefined> {
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
