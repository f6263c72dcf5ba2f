import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../../bytes/bytes.ts';
import { parseJson } from '../../bytes/json.ts';
import {
  decryptGcm,
  deriveGcmKey,
  encryptGcm,
  nonceBytes,
  tagBytes,
  type GcmKey,
} from '../../crypto/aes-gcm.ts';
import { ClientError } from '../../errors/client-error.ts';
import { StoredChanges } from '../values/remembered.ts';

const memoryLabel = 'Service_Memory_v1';
const formatVersion = 1;
const prefixBytes = 5;

/** A key for records, and the generation of the master key from which it derives. */
export interface MemoryKey {
  readonly generation: number;
  readonly key: GcmKey;
}

export async function deriveMemoryKey(masterKey: Bytes, generation: number): Promise<MemoryKey> {
  return { generation, key: await deriveGcmKey(masterKey, memoryLabel) };
}

export async function sealRecord(
  { generation, key }: MemoryKey,
  changes: StoredChanges,
): Promise<Bytes> {
  const prefix = new Uint8Array(prefixBytes);
  const view = new DataView(prefix.buffer);
  view.setUint8(0, formatVersion);
  view.setUint32(1, generation);
  const text = utf8ToBytes(JSON.stringify(changes));
  return concatBytes(prefix, await encryptGcm(key, text, prefix));
}

/**
 * Returns the generation of the master key under which a record was encrypted, which is not
 * authenticated until the record is decrypted. Throws store_damaged if the record is malformed.
 */
export function writtenUnder(record: Bytes): number {
  const view = new DataView(record.buffer, record.byteOffset, record.byteLength);
  if (record.length < prefixBytes + nonceBytes + tagBytes || view.getUint8(0) !== formatVersion) {
    throw new ClientError('store_damaged');
  }
  return view.getUint32(1);
}

/**
 * Decrypts a record. Throws store_of_another_user for a wrong key, and store_damaged if the content
 * is not as it should be.
 */
export async function openRecord({ key }: MemoryKey, record: Bytes): Promise<StoredChanges> {
  const prefix = record.slice(0, prefixBytes);
  const opened = await decryptGcm(key, record.slice(prefixBytes), prefix).catch(
    (cause: unknown) => {
      throw new ClientError('store_of_another_user', { cause });
    },
  );
  try {
    return StoredChanges.parse(parseJson(opened));
  } catch (cause) {
    throw new ClientError('store_damaged', { cause });
  }
}
