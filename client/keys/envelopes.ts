import { randomBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { unwrapKey, wrapKey } from '../crypto/aes-kw.ts';
import { keyBytes, WrappedKey } from '../crypto/key.ts';
import type { Http } from '../http/http.ts';
import { VaultError } from '../errors/vault-error.ts';
import { deviceEnvelopePath, DeviceEnvelope } from './device-envelope.ts';
import { unwrapOnDevice, type DeviceKey } from './device-key.ts';
import type { HeldKey } from './held-key.ts';
import { openKeyring, type Keyring } from './keyring.ts';
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

/** The present master key, and what the last rekey left beside it. */
export interface OpenedKeyring extends Keyring {
  readonly masterKey: Bytes;
}

export interface Envelopes {
  /** Makes the user's master key and leaves it with the vault, wrapped. VaultError 409 if one exists. */
  createMasterKey(): Promise<Bytes>;
  /** VaultError 404 if there is none; ClientError invalid_envelope if it does not open. */
  openMasterKey(): Promise<Bytes>;
  /**
   * With those before it, which open what is older than the last rekey. Throws also invalid_keyring;
   * so does what follows.
   */
  openMasterKeys(): Promise<MasterKeys>;
  /**
   * The same by a device's own key in place of the password. The vault can answer with the envelope
   * that the device had before a rekey, and nothing tells: after one, open it by the password once.
   */
  openMasterKeysWithDevice(device: DeviceKey): Promise<MasterKeys>;
  /** The same for who wraps anew: with the public keys of the devices that the last rekey kept. */
  openKeyring(): Promise<OpenedKeyring>;
  /** Whether this, from a client, is what the vault has. */
  isMasterEnvelope(encryptedEnvelope: string): Promise<boolean>;
}

/** No key leaves the client: the vault gets and gives the 40 bytes of the wrapped form alone. */
export function createEnvelopes({
  http,
  passwordKey,
}: {
  http: Http;
  passwordKey: HeldKey;
}): Envelopes {
  const load = () => http.json(Envelope, { method: 'GET', path: routePath });

  async function openByPassword({ encryptedEnvelope }: Envelope): Promise<Bytes> {
    const wrapped = decodeBase64(encryptedEnvelope);
    let failure: unknown = new ClientError('session_ended');
    for (const candidate of passwordKey.candidates()) {
      try {
        return assertKey(await unwrapKey(candidate, wrapped));
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  async function openKeyringOf(): Promise<OpenedKeyring> {
    const envelope = await load();
    return withKeyring(await openByPassword(envelope), envelope);
  }

  return {
    async createMasterKey() {
      const [wrappingKey] = passwordKey.candidates();
      if (wrappingKey === undefined) throw new ClientError('session_ended');
      const masterKey = randomBytes(keyBytes);
      const encryptedEnvelope = encodeBase64(await wrapKey(wrappingKey, masterKey));
      try {
        const json = { encryptedEnvelope };
        await storeEnvelope(http, { method: 'POST', path: routePath, repeatable: true, json });
      } catch (error) {
        if (!(error instanceof VaultError) || error.status !== 409) throw error;
        // The answer to an earlier try may be lost.
        if ((await load()).encryptedEnvelope !== encryptedEnvelope) throw error;
      }
      return masterKey;
    },

    openMasterKey: async () => openByPassword(await load()),
    openKeyring: openKeyringOf,
    isMasterEnvelope: async (made) => (await load()).encryptedEnvelope === made,

    async openMasterKeys() {
      const { masterKey, earlierKeys } = await openKeyringOf();
      return { masterKey, earlierKeys };
    },

    async openMasterKeysWithDevice(device) {
      const path = deviceEnvelopePath(device.deviceId);
      const { encryptedEnvelope } = await http.json(DeviceEnvelope, { method: 'GET', path });
      const envelope = await load();
      const wrapped = decodeBase64(encryptedEnvelope);
      const masterKey = assertKey(await unwrapOnDevice(device, wrapped, envelope.keyring));
      const { earlierKeys } = await withKeyring(masterKey, envelope);
      return { masterKey, earlierKeys };
    },
  };
}

function assertKey(key: Bytes): Bytes {
  if (key.length !== keyBytes) throw new ClientError('invalid_envelope');
  return key;
}

async function withKeyring(masterKey: Bytes, { keyring }: Envelope): Promise<OpenedKeyring> {
  if (keyring === null) return { masterKey, earlierKeys: [], publicKeys: new Map() };
  return { masterKey, ...(await openKeyring(masterKey, keyring)) };
}
