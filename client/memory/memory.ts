import { equalBytes, type Bytes } from '../bytes/bytes.ts';
import { deriveKey } from '../crypto/hkdf.ts';
import { ClientError } from '../errors/client-error.ts';
import type { KeyLook } from '../keys/key-look.ts';
import { generationOf, listMasterKeys, type MasterKeys } from '../keys/master-keys.ts';
import { createTurns } from '../async/turns.ts';
import { keyRolledBack, openJournal, type Journal } from './journal.ts';
import { deriveMemoryKey } from './memory-record.ts';
import type { MemoryStore } from './memory-store.ts';
import { createRecollection } from './recollection.ts';
import type { DocumentState, RememberedPerson, RememberedShare } from './remembered.ts';

const checkLabel = 'Service_Memory_Check_v1';

/**
 * A look at the vault. What the vault shows is compared with what was remembered when the look
 * began, since a response may be overtaken by a change that was made later.
 */
export interface Look {
  /**
   * Remembers the state of a document that the vault showed. Throws RolledBackError if a newer
   * state was remembered, or another one of the same place, or that the user removed the document.
   */
  sawDocument(id: string, state: DocumentState): Promise<void>;
  /**
   * Remembers for what a share that the vault showed stands. Throws RolledBackError if it was
   * something else before.
   */
  sawShare(id: string, share: RememberedShare): Promise<void>;
}

/**
 * The memory of what this device has seen of the vault: the generation of the master key, the
 * newest state of each document, the confirmed keys of people and the first audit keys of the
 * vault. Without a store it lasts as long as the session. Every method throws what
 * `KeyLook.sawMasterKeys` throws.
 */
export interface Memory {
  /** Begins a look before a request is sent. */
  look(): Promise<Look>;
  /** Begins a look at the master keys before they are requested. */
  lookAtKeys(): KeyLook;
  /**
   * Resolves with the generation of a master key. Throws master_key_outdated unless it is the
   * present one: nothing may be written under an earlier one.
   */
  generationOf(masterKey: Bytes): Promise<number>;
  /** Remembers a state of a document that this client made. */
  madeDocument(id: string, state: DocumentState): Promise<void>;
  /** Remembers that the user removed a document. */
  removedDocument(id: string): Promise<void>;
  /** Resolves with what the user confirmed of a person, by e-mail address or user id. */
  person(name: string): Promise<RememberedPerson | undefined>;
  /** Remembers that the user confirmed the fingerprint of a person, under all of their names. */
  confirmedPerson(
    names: { readonly id: string; readonly email?: string },
    fingerprint: string,
  ): Promise<void>;
  /** Resolves with the fingerprints of the first audit keys that the vault showed. */
  vaultKeys(): Promise<readonly string[] | undefined>;
  /** Remembers the first audit keys that the vault showed, unless others are remembered. */
  sawVaultKeys(fingerprints: readonly string[]): Promise<void>;
  /**
   * Forgets one document, so that the state that the vault shows next is believed. Ask the user
   * first: they should know why the vault went back.
   */
  forgetDocument(id: string): Promise<void>;
  /**
   * Forgets everything, so that what the vault shows next is believed, the master key too. Ask the
   * user first, as for `forgetDocument`.
   */
  forgetAll(): Promise<void>;
}

type KeySource = Parameters<KeyLook['sawMasterKeys']>[1];

interface Opened {
  readonly journal: Journal;
  readonly generation: number;
  /** A tag of the master key, which discloses nothing about it. */
  readonly check: Bytes;
}

/**
 * Creates the memory of a session. It is opened with the first master keys that the session sees.
 * @param openKeys asks the vault for the master keys, which passes them to `sawMasterKeys`
 */
export function createMemory({
  store = noStore,
  openKeys,
}: {
  readonly store?: MemoryStore | undefined;
  readonly openKeys: () => Promise<unknown>;
}): Memory {
  const recollection = createRecollection();
  let opened: Opened | undefined;
  /** Whether the next opening replaces what the store holds. */
  let isForgotten = false;
  const inTurn = createTurns();

  async function open(keys: MasterKeys, source: KeySource): Promise<Opened> {
    const journal = await openJournal(isForgotten ? emptied(store) : store, keys, () =>
      recollection.summary(),
    );
    if (journal.isOutdated && source === 'device') throw new ClientError('rekey_unconfirmed');
    for (const changes of journal.contents) recollection.apply(changes);
    await journal.refresh();
    isForgotten = false;
    return { journal, generation: generationOf(keys), check: await checkOf(keys.masterKey) };
  }

  /** Compares the keys that the vault showed with those that are known. */
  async function compare(
    known: Opened,
    keys: MasterKeys,
    { since, source }: { readonly since: number; readonly source: KeySource },
  ): Promise<Opened> {
    const generation = generationOf(keys);
    if (generation < since) throw keyRolledBack(since, generation);
    const same = listMasterKeys(keys)[generation - known.generation];
    // A response that a rekey overtook shows the earlier keys.
    if (generation < known.generation) return known;
    if (same === undefined || !equalBytes(await checkOf(same), known.check)) {
      throw keyRolledBack(known.generation, generation);
    }
    if (generation === known.generation) return known;
    if (source === 'device') throw new ClientError('rekey_unconfirmed');
    await known.journal.changeKey(await deriveMemoryKey(keys.masterKey, generation));
    return { ...known, generation, check: await checkOf(keys.masterKey) };
  }

  async function ready(): Promise<Journal> {
    if (opened === undefined) await openKeys();
    if (opened === undefined) throw new TypeError('openKeys must show the master keys.');
    return opened.journal;
  }

  async function remember(changes: Parameters<typeof recollection.change>[0]): Promise<void> {
    const journal = await ready();
    const changed = recollection.change(changes);
    if (changed !== undefined) await journal.append(changed);
  }

  return {
    async look() {
      await ready();
      const since = recollection.now();
      return {
        async sawDocument(id, state) {
          recollection.compareDocument(id, state, since);
          await remember({ documents: { [id]: state } });
        },
        async sawShare(id, share) {
          recollection.compareShare(id, share);
          await remember({ shares: { [id]: share } });
        },
      };
    },

    lookAtKeys() {
      const since = opened?.generation ?? 0;
      return {
        sawMasterKeys: (keys, source) =>
          inTurn(async () => {
            opened =
              opened === undefined
                ? await open(keys, source)
                : await compare(opened, keys, { since, source });
          }),
      };
    },

    async generationOf(masterKey) {
      await ready();
      if (opened === undefined || !equalBytes(await checkOf(masterKey), opened.check)) {
        throw new ClientError('master_key_outdated');
      }
      return opened.generation;
    },

    madeDocument: (id, state) => remember({ documents: { [id]: state } }),
    removedDocument: (id) => remember({ documents: { [id]: 'removed' } }),

    async person(name) {
      await ready();
      return recollection.person(name);
    },

    async confirmedPerson({ id, email }, fingerprint) {
      await ready();
      const names = email === undefined ? [id] : [id, email];
      const people = names.flatMap((name) => {
        const known = recollection.person(name);
        const person = confirmed(known, { fingerprint, email });
        return person === undefined ? [] : [[name, person] as const];
      });
      if (people.length > 0) await remember({ people: Object.fromEntries(people) });
    },

    async vaultKeys() {
      await ready();
      return recollection.vaultKeys();
    },

    async sawVaultKeys(fingerprints) {
      await ready();
      if (recollection.vaultKeys() === undefined) await remember({ vaultKeys: [...fingerprints] });
    },

    forgetDocument: (id) => remember({ documents: { [id]: null } }),

    forgetAll: () =>
      inTurn(async () => {
        recollection.forgetAll();
        opened = undefined;
        isForgotten = true;
      }),
  };
}

/** Returns a person with a confirmed fingerprint; undefined if all of it is known already. */
function confirmed(
  known: RememberedPerson | undefined,
  { fingerprint, email }: { readonly fingerprint: string; readonly email: string | undefined },
): RememberedPerson | undefined {
  const { fingerprints: earlier = [], email: earlierEmail } = known ?? {};
  const isKnown = earlier[0] === fingerprint && (email ?? earlierEmail) === earlierEmail;
  if (isKnown) return undefined;
  const fingerprints = [fingerprint, ...earlier.filter((other) => other !== fingerprint)];
  const present = email ?? earlierEmail;
  return { fingerprints, ...(present !== undefined && { email: present }) };
}

async function checkOf(masterKey: Bytes): Promise<Bytes> {
  return deriveKey(masterKey, checkLabel);
}

/** Returns the store as if it held nothing; the first record replaces what it holds. */
function emptied(store: MemoryStore): MemoryStore {
  return {
    load: async () => [],
    append: (record) => store.append(record),
    replace: (record) => store.replace(record),
  };
}

/** Keeps nothing beyond the session. */
const noStore: MemoryStore = {
  load: async () => [],
  append: async () => {},
  replace: async () => {},
};
