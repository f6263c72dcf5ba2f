import { randomBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { keyBytes, WrappedKey } from '../crypto/key.ts';
import type { Http } from '../http/http.ts';
import { VaultError } from '../errors/vault-error.ts';
import { deviceEnvelopePath, DeviceEnvelope } from './device-envelope.ts';
import { unwrapOnDevice, type DeviceKey } from './device-key.ts';
import type { HeldKey } from './held-key.ts';
import type { KeyLook } from './key-look.ts';
import { openKeyring, readGeneration, type Keyring } from './keyring.ts';
import { unwrapMasterKey, wrapMasterKey } from './master-key-wrap.ts';
import type { MasterKeys } from './master-keys.ts';
import { storeEnvelope } from './store-envelope.ts';

const routePath = '/v1/crypto/keys/master-envelope';

const Envelope = z.object({
  encryptedEnvelope: WrappedKey,
  algorithm: z.literal('AES-256-KW'),
  version: z.int(),
  keyring: z.string().nullable(),
});
type Envelope = z.output<typeof Envelope>;

/** The present master key together with the content of the keyring that the last rekey stored. */
export interface OpenedKeyring extends Keyring {
  readonly masterKey: Bytes;
}

/** A rekey that the user confirms. */
export interface ConfirmedRekey {
  /**
   * The fingerprint of the user's new identity, 32 hex digits, as `enableSharing` tells it on the
   * device that carried out the rekey. Throws rekey_unconfirmed for another one.
   */
  readonly fingerprint: string;
}

/** The user's master key and the envelopes in which it is wrapped. */
export interface Envelopes {
  /**
   * Creates the user's master key, 32 bytes, and stores it in the vault, wrapped under the
   * password. Throws VaultError 409 envelope_exists if the user already has a master key, and
   * session_ended after logout.
   */
  createMasterKey(): Promise<Bytes>;
  /**
   * Opens the master key, 32 bytes. Throws VaultError 404 not_found if the user has none,
   * ClientError invalid_envelope or invalid_keyring if it cannot be decrypted, what
   * `KeyLook.sawMasterKeys` throws, and session_ended after logout.
   */
  openMasterKey(): Promise<Bytes>;
  /**
   * Opens the present master key and all earlier master keys, which decrypt data from before the
   * last rekey. Throws what `openMasterKey` throws.
   */
  openMasterKeys(): Promise<MasterKeys>;
  /**
   * Opens the master keys with a device's own key in place of the password. After a rekey, throws
   * rekey_unconfirmed on a device that remembers the master key of before, until the keys were
   * opened with the password there, or the user has compared the fingerprint of the new identity.
   * Throws what `openMasterKeys` throws, and VaultError 403 device_blacklisted.
   */
  openMasterKeysWithDevice(device: DeviceKey, confirmed?: ConfirmedRekey): Promise<MasterKeys>;
  /**
   * Opens the master keys together with the public keys of the devices that the last rekey kept,
   * for callers that wrap the master key for devices again. Throws what `openMasterKeys` throws.
   */
  openKeyring(): Promise<OpenedKeyring>;
  /** Resolves with whether the vault's master envelope equals the given envelope (base64). */
  isMasterEnvelope(encryptedEnvelope: string): Promise<boolean>;
}

/**
 * Creates the access to the envelopes. No key leaves the client in plaintext: the vault receives
 * and returns only the 40 bytes of the wrapped key.
 */
export function createEnvelopes({
  http,
  passwordKey,
  lookAtKeys,
  fingerprintUnder,
}: {
  readonly http: Http;
  readonly passwordKey: HeldKey;
  readonly lookAtKeys: () => KeyLook;
  /** Resolves with the fingerprint of the user's identity, which this master key must open. */
  readonly fingerprintUnder: (masterKey: Bytes) => Promise<string>;
}): Envelopes {
  const load = () => http.json(Envelope, { method: 'GET', path: routePath });

  async function openByPassword({ encryptedEnvelope, keyring }: Envelope): Promise<Bytes> {
    const wrapped = decodeBase64(encryptedEnvelope);
    const generation = readGeneration(keyring);
    let failure: unknown = new ClientError('session_ended');
    for (const candidate of passwordKey.candidates()) {
      try {
        return await unwrapMasterKey(candidate, wrapped, generation);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  async function openKeyringOf(): Promise<OpenedKeyring> {
    const look = lookAtKeys();
    const envelope = await load();
    const keyring = await withKeyring(await openByPassword(envelope), envelope);
    await look.sawMasterKeys(keyring, 'password');
    return keyring;
  }

  return {
    async createMasterKey() {
      const [key] = passwordKey.candidates();
      if (key === undefined) throw new ClientError('session_ended');
      const look = lookAtKeys();
      const masterKey = randomBytes(keyBytes);
      const encryptedEnvelope = encodeBase64(
        await wrapMasterKey(key, { masterKey, generation: 1 }),
      );
      try {
        const json = { encryptedEnvelope };
        await storeEnvelope(http, { method: 'POST', path: routePath, repeatable: true, json });
      } catch (error) {
        if (!(error instanceof VaultError) || error.status !== 409) throw error;
        // The vault may have accepted an earlier attempt whose response was lost.
        if ((await load()).encryptedEnvelope !== encryptedEnvelope) throw error;
      }
      await look.sawMasterKeys({ masterKey }, 'password');
      return masterKey;
    },

    openMasterKey: async () => (await openKeyringOf()).masterKey,
    openKeyring: openKeyringOf,
    isMasterEnvelope: async (made) => (await load()).encryptedEnvelope === made,

    async openMasterKeys() {
      const { masterKey, earlierKeys } = await openKeyringOf();
      return { masterKey, earlierKeys };
    },

    async openMasterKeysWithDevice(device, confirmed) {
      const look = lookAtKeys();
      const path = deviceEnvelopePath(device.deviceId);
      const { encryptedEnvelope } = await http.json(DeviceEnvelope, { method: 'GET', path });
      const envelope = await load();
      const wrapped = decodeBase64(encryptedEnvelope);
      const masterKey = await unwrapOnDevice(device, wrapped, envelope.keyring);
      const { earlierKeys, list } = await withKeyring(masterKey, envelope);
      if (
        confirmed !== undefined &&
        (await fingerprintUnder(masterKey)) !== confirmed.fingerprint
      ) {
        throw new ClientError('rekey_unconfirmed');
      }
      const source = confirmed === undefined ? 'device' : 'identity';
      await look.sawMasterKeys({ masterKey, earlierKeys, list }, source);
      return { masterKey, earlierKeys };
    },
  };
}

async function withKeyring(masterKey: Bytes, { keyring }: Envelope): Promise<OpenedKeyring> {
  if (keyring === null) {
    return { masterKey, earlierKeys: [], earlierIdentities: [], publicKeys: new Map() };
  }
  return { masterKey, ...(await openKeyring(masterKey, keyring)) };
}
