import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';

/**
 * A user's present master key and the earlier master keys, which rekeys have replaced. New data is
 * encrypted only under the present key; existing data stays encrypted under the key that was the
 * present one at the time.
 */
export interface MasterKeys {
  /** The present master key, 32 bytes. */
  readonly masterKey: Bytes;
  /** The earlier master keys, 32 bytes each, newest first. */
  readonly earlierKeys?: readonly Bytes[];
}

/** A master key and its generation: 1 for the first one, and one more with each rekey. */
export interface NumberedKey {
  readonly masterKey: Bytes;
  readonly generation: number;
}

/** Returns the generation of the present master key. */
export function generationOf({ earlierKeys = [] }: Pick<MasterKeys, 'earlierKeys'>): number {
  return earlierKeys.length + 1;
}

/** Returns the present master key with its generation. */
export function presentKeyOf(keys: MasterKeys): NumberedKey {
  return { masterKey: keys.masterKey, generation: generationOf(keys) };
}

/** Returns all master keys, the present one first, since most data is encrypted under it. */
export function listMasterKeys({ masterKey, earlierKeys = [] }: MasterKeys): readonly Bytes[] {
  return [masterKey, ...earlierKeys];
}

/**
 * Calls `open` with each master key, the present one first, until it does not throw ClientError,
 * and resolves with its result. If it throws ClientError for every key, throws the error for the
 * present key.
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
