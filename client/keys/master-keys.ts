import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';

/**
 * A user's master key, and those that rekeys have replaced, newest first. New things are made under
 * the present one alone; what is there already opens under whichever it was made under.
 */
export interface MasterKeys {
  readonly masterKey: Bytes;
  readonly earlierKeys?: readonly Bytes[];
}

/** The present key first, since most is under it. */
export function listMasterKeys({ masterKey, earlierKeys = [] }: MasterKeys): readonly Bytes[] {
  return [masterKey, ...earlierKeys];
}

/** What `open` makes with the first key that it takes. Throws what it throws for the present one. */
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
