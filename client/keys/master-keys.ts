import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';

/**
 * A user's master key and those that rekeys have replaced. New data is encrypted under the present
 * key only; existing data opens under the key that it was encrypted under.
 */
export interface MasterKeys {
  /** 32 bytes. */
  readonly masterKey: Bytes;
  /** 32 bytes each, newest first. */
  readonly earlierKeys?: readonly Bytes[];
}

/** Returns all master keys, the present one first, since most data is under it. */
export function listMasterKeys({ masterKey, earlierKeys = [] }: MasterKeys): readonly Bytes[] {
  return [masterKey, ...earlierKeys];
}

/**
 * Resolves with the result of `open` for the first key that it accepts. Throws the error of the
 * present key if it accepts none.
 */
export async function openWithAny<T>(
  keys: MasterKeys,
  open: (masterKey: Bytes) => Promise<T>,
): Promise<T> {
  let first: ClientError | undefined;
  for (const masterKey of listMasterKeys(keys)) {
    try {
      return await open(masterKey);
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      first ??= error;
    }
  }
  throw first;
}
