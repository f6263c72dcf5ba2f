import type { Bytes } from '../bytes/bytes.ts';
import type { AccountNames } from '../identity/account-names.ts';
import type { KeyLook } from '../keys/key-look.ts';
import type { PersonOfKeys } from './values/known-people.ts';
import type {
  DocumentState,
  GivenShare,
  RememberedPerson,
  RememberedShare,
} from './values/remembered.ts';
import type { ObjectLook } from './values/object-look.ts';
import type { RolledBackError } from './values/rolled-back-error.ts';

/**
 * A look at the vault. What the vault shows is compared with what was remembered when the look
 * began, since a response may be overtaken by a change that was made later.
 */
export interface Look {
  /**
   * Remembers the state of a document that the vault showed. Throws RolledBackError if a newer
   * state was remembered, or another one of the same place, or that the user removed the document.
   * Throws UnlistedError if only an earlier master key opens it, and it was not there at the
   * rekey: somebody who has that key may have made it later.
   * @param isPresent whether the present master key opens the document
   */
  sawDocument(id: string, state: DocumentState, isPresent?: boolean): Promise<void>;
  /**
   * Remembers the state of a document that the user received. Throws RolledBackError for an older
   * one than a signer has shown.
   * @param signers fingerprints of the sharer's identities, first the one that signed the share
   */
  sawReceived(
    signers: readonly [string, ...string[]],
    id: string,
    state: DocumentState,
  ): Promise<void>;
  /**
   * Remembers for what a share that the vault showed stands. Throws RolledBackError if it was
   * something else before.
   */
  sawShare(id: string, share: RememberedShare): Promise<void>;
  /** Ends the look: no answer is compared by it any more. */
  end(): void;
}

/**
 * The memory of what this device has seen of the vault, and of what the user's other devices told:
 * the generation of the master key, the newest state of each document, the confirmed keys of people
 * and the first audit keys of the vault. Without a store it lasts as long as the session. Every
 * method throws what `KeyLook.sawMasterKeys` and `MemoryExchange.read` throw.
 */
export interface Memory {
  /** Returns whether the session has seen its master keys, and with them what is remembered. */
  isOpen(): boolean;
  /** Begins a look before a request is sent. */
  look(): Promise<Look>;
  /** Begins a look at the master keys before they are requested. */
  lookAtKeys(): KeyLook;
  /**
   * Resolves with the generation of a master key. Throws master_key_outdated unless it is the
   * present one: nothing may be written under an earlier one.
   */
  generationOf(masterKey: Bytes): Promise<number>;
  /** Begins a look at the synchronised objects before they are requested. */
  lookAtObjects(): Promise<ObjectLook>;
  /** Remembers a state of a document that this client made. */
  madeDocument(id: string, state: DocumentState): Promise<void>;
  /** Remembers that the user removed a document. */
  removedDocument(id: string): Promise<void>;
  /**
   * Resolves with what the user confirmed of a person, by e-mail address, or by the id that the
   * vault shows for the owner of a share.
   */
  person(name: string): Promise<RememberedPerson | undefined>;
  /**
   * Resolves with the person under whose e-mail address the user confirmed an identity, by its
   * fingerprint. An identity belongs to one person.
   */
  whose(fingerprint: string): Promise<PersonOfKeys | undefined>;
  /** Remembers that the user confirmed the fingerprint of a person, under all given names. */
  confirmedPerson(
    names: { readonly email?: string | undefined; readonly ownerId?: string | undefined },
    fingerprint: string,
  ): Promise<void>;
  /** Resolves with what a share that the user received stands for, once it was opened. */
  receivedShare(id: string): Promise<RememberedShare | undefined>;
  /** Resolves with a share that the user gave; undefined for one that the user ended, too. */
  givenShare(id: string): Promise<GivenShare | undefined>;
  /** Resolves with the e-mail address of a recipient with whom the user has shared, by id. */
  givenTo(recipientId: string): Promise<string | undefined>;
  /** Remembers a share that the user gave. */
  gaveShare(id: string, share: GivenShare): Promise<void>;
  /** Remembers that the user ended a share. */
  endedShare(id: string): Promise<void>;
  /** Resolves with the fingerprints of the first audit keys that the vault showed. */
  vaultKeys(): Promise<readonly string[] | undefined>;
  /** Remembers the first audit keys that the vault showed, unless others are remembered. */
  sawVaultKeys(fingerprints: readonly string[]): Promise<void>;
  /**
   * Remembers the names of the account. Throws account_mismatch if other names were seen. Does not
   * throw what `MemoryExchange.read` throws.
   */
  sawAccount(names: AccountNames): Promise<void>;
  /**
   * Accepts the older state of a document that the vault showed, in place of what was remembered.
   * The user's other devices accept it too, unless they remember a newer one. Ask the user first:
   * they should know why the vault went back. Throws TypeError for an error without a state.
   */
  acceptDocument(error: RolledBackError): Promise<void>;
  /**
   * Accepts that the vault lost the reports of a device up to the one that the error names, because
   * it was restored. The user's other devices accept it too. Ask the user first, as for
   * `acceptDocument`. Throws TypeError for another error, also for a lost list of a rekey, without
   * which only `forgetAll` goes on.
   */
  acceptReports(error: RolledBackError): Promise<void>;
  /**
   * Forgets one document, so that the state that the vault shows next is believed, also one that is
   * `document_unlisted`. Ask the user first, as for `acceptDocument`.
   */
  forgetDocument(id: string): Promise<void>;
  /**
   * Reads what the user's other devices told, and tells them what this device has seen, in a
   * session that is bound to a device. A session reads by itself before it first looks at the
   * vault, and tells at `logout`; call it now and then in a session that lasts.
   */
  exchange(): Promise<void>;
  /** Remembers that the user registered a device. */
  registeredDevice(deviceId: string): Promise<void>;
  /**
   * Resolves with the ids of the devices that the user registered, by what this device and the
   * others told, for `Devices.check`.
   */
  devices(): Promise<readonly string[]>;
  /** Resolves with whether the user revoked a device, by what this device and the others told. */
  isRevoked(deviceId: string): Promise<boolean>;
  /**
   * Remembers that the user revoked a device: what only that device told counts for nothing from
   * now on.
   */
  revokedDevice(deviceId: string): Promise<void>;
  /**
   * Forgets everything, also what the user's other devices told, so that what the vault shows next
   * is believed, the master key too. Ask the user first, as for `acceptDocument`.
   */
  forgetAll(): Promise<void>;
}
