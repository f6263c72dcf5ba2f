import type { Bytes } from '../bytes/bytes.ts';
import { unwrapKey, wrapKey } from '../crypto/aes-kw.ts';
import { deriveKey } from '../crypto/hkdf.ts';
import { keyBytes } from '../crypto/key.ts';
import { ClientError } from '../errors/client-error.ts';
import type { NumberedKey } from './master-keys.ts';

const wrapLabel = 'Service_Master_Key_Wrap_v1';

/**
 * Wraps a master key for an envelope, 40 bytes. The envelope opens only together with the right
 * generation, so an envelope from before a rekey is of no use beside a later keyring.
 * @param key K_password, K_recovery, K_device, or the key on which a device and a rekey agree
 */
export async function wrapMasterKey(
  key: Bytes,
  { masterKey, generation }: NumberedKey,
): Promise<Bytes> {
  return wrapKey(await deriveWrappingKey(key, generation), masterKey);
}

/** Opens an envelope. Throws invalid_envelope for another key or generation. */
export async function unwrapMasterKey(
  key: Bytes,
  envelope: Bytes,
  generation: number,
): Promise<Bytes> {
  const masterKey = await unwrapKey(await deriveWrappingKey(key, generation), envelope);
  if (masterKey.length !== keyBytes) throw new ClientError('invalid_envelope');
  return masterKey;
}

function deriveWrappingKey(key: Bytes, generation: number): Promise<Bytes> {
  return deriveKey(key, `${wrapLabel}:${generation}`);
}
