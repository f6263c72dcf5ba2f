import type { RekeyList } from './keyring.ts';
import type { MasterKeys } from './master-keys.ts';

/** The master keys, and the list of the documents that were there before the present one. */
export interface ListedKeys extends MasterKeys {
  readonly list?: RekeyList | undefined;
}

/**
 * A look at the master keys. What the vault shows is compared with what was remembered when the
 * look began, since a rekey may overtake a response.
 */
export interface KeyLook {
  /**
   * Remembers the master keys that the vault showed, and opens the memory with them the first time.
   * Throws RolledBackError for an earlier master key, or another one of the same generation;
   * rekey_unconfirmed for a later one that `source` does not confirm; store_of_another_user and
   * store_damaged if the memory cannot be read with them; and what its store throws.
   * @param source the envelope that was opened, or the new identity that the user compared. One of
   *   the password is confirmed, since nobody else can make it. One of a device can be made by
   *   whoever has had an earlier master key.
   */
  sawMasterKeys(keys: ListedKeys, source: 'password' | 'identity' | 'device'): Promise<void>;
}
