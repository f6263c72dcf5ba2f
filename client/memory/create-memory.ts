import { equalBytes, type Bytes } from '../bytes/bytes.ts';
import { createTurns } from '../async/turns.ts';
import { deriveKey } from '../crypto/hkdf.ts';
import { ClientError } from '../errors/client-error.ts';
import type { KeyLook, ListedKeys } from '../keys/key-look.ts';
import type { RekeyList } from '../keys/keyring.ts';
import { generationOf, listMasterKeys } from '../keys/master-keys.ts';
import { keyRolledBack, openJournal, type Journal } from './storage/journal.ts';
import type { ExchangedMemory, MemoryExchange } from './exchange/memory-exchange.ts';
import { lookAtDocuments } from './document-look.ts';
import type { Memory } from './memory.ts';
import { deriveMemoryKey } from './storage/memory-record.ts';
import { emptied, noStore } from './storage/empty-store.ts';
import type { MemoryStore } from './storage/memory-store.ts';
import { deriveReportKey, type ReportKey } from './exchange/report-key.ts';
import { createPeople } from './people.ts';
import { lookAtObjects } from './values/object-look.ts';
import { createRecollection, type Recollection } from './values/recollection.ts';
import {
  changesOf,
  receivedName,
  type RememberedDocument,
  type StoredChanges,
} from './values/remembered.ts';

const checkLabel = 'Service_Memory_Check_v1';

type KeySource = Parameters<KeyLook['sawMasterKeys']>[1];

interface Opened {
  readonly journal: Journal;
  readonly reportKey: ReportKey;
  /** Tags of the master keys, the present one first, which disclose nothing about them. */
  readonly checks: readonly Bytes[];
  readonly list: RekeyList | undefined;
}

/**
 * Creates the memory of a session. It is opened with the first master keys that the session sees.
 * @param openKeys asks the vault for the master keys, which passes them to `sawMasterKeys`
 * @param exchange reads what the user's other devices told, once the memory is open
 */
export function createMemory({
  store = noStore,
  openKeys,
  exchange,
}: {
  readonly store?: MemoryStore | undefined;
  readonly openKeys: () => Promise<unknown>;
  readonly exchange: MemoryExchange;
}): Memory {
  const recollection = createRecollection();
  let opened: Opened | undefined;
  /** Whether the next opening replaces what the store holds. */
  let isForgotten = false;
  const inTurn = createTurns();
  let reading: Promise<void> | undefined;

  async function open(keys: ListedKeys, source: KeySource): Promise<Opened> {
    const journal = await openJournal(isForgotten ? emptied(store) : store, keys, () =>
      recollection.summary(),
    );
    if (journal.isOutdated && source === 'device') throw new ClientError('rekey_unconfirmed');
    for (const changes of journal.contents) recollection.apply(changes);
    if (isForgotten && keys.list !== undefined) {
      recollection.apply({ forgottenList: keys.list.writer });
    }
    await journal.refresh();
    isForgotten = false;
    return { journal, ...(await derive(keys)) };
  }

  /** Compares the keys that the vault showed with those that are known. */
  async function compare(
    known: Opened,
    keys: ListedKeys,
    { since, source }: { readonly since: number; readonly source: KeySource },
  ): Promise<Opened> {
    const generation = generationOf(keys);
    if (generation < since) throw keyRolledBack(since, generation);
    const present = known.reportKey.generation;
    // A response that a rekey overtook shows the earlier keys.
    const same = listMasterKeys(keys)[Math.max(0, generation - present)];
    const check = known.checks[Math.max(0, present - generation)];
    if (same === undefined || check === undefined || !equalBytes(await checkOf(same), check)) {
      throw keyRolledBack(present, generation);
    }
    if (generation <= present) return known;
    if (source === 'device') throw new ClientError('rekey_unconfirmed');
    // The reports under the new master key were not read yet.
    reading = undefined;
    await known.journal.changeKey(await deriveMemoryKey(keys.masterKey, generation));
    return { ...known, ...(await derive(keys)) };
  }

  async function assertOpen(): Promise<Opened> {
    if (opened === undefined) await openKeys();
    if (opened === undefined) throw new TypeError('openKeys must show the master keys.');
    return opened;
  }

  /** Opens the memory and waits until the reports were read. */
  async function ready(): Promise<void> {
    await assertOpen();
    reading ??= exchange.read(exchanged);
    try {
      await reading;
    } catch (error) {
      reading = undefined;
      throw error;
    }
  }

  async function keep(changes: Partial<StoredChanges>): Promise<void> {
    const { journal } = await assertOpen();
    recollection.apply(changes);
    await journal.append({ ...changesOf(changes), told: {}, ...changes });
  }

  /** Remembers a state of a document, unless it or a newer one is known. */
  async function saw(given: string, state: Parameters<Recollection['news']>[1]): Promise<void> {
    const id = given.toLowerCase();
    const value = recollection.news(id, state);
    if (value !== undefined) await keep({ documents: { [id]: value } });
  }

  /** Remembers a value in place of what is known of a document. */
  async function overrule(given: string, value: RememberedDocument): Promise<void> {
    const id = given.toLowerCase();
    const { accepted = 0, insteadOf: earlier, ...before } = recollection.document(id)?.value ?? {};
    const insteadOf = 'version' in before || 'removed' in before ? before : earlier;
    const documents = {
      [id]: { ...value, accepted: accepted + 1, ...(insteadOf !== undefined && { insteadOf }) },
    };
    await keep({ documents });
    await exchange.restart(exchanged);
  }

  const exchanged: ExchangedMemory = {
    recollection,
    reportKey() {
      if (opened === undefined) throw new TypeError('The memory is not open.');
      return opened.reportKey;
    },
    list() {
      const list = opened?.list;
      return list?.writer === recollection.forgottenList() ? undefined : list;
    },
    keep,
  };

  return {
    isOpen: () => opened !== undefined,

    async look() {
      await ready();
      return lookAtDocuments({
        recollection,
        hasList: () => exchanged.list() !== undefined,
        keepDocument: saw,
        keepShare: (id, share) => keep({ shares: { [id]: share } }),
      });
    },

    lookAtKeys() {
      const since = opened?.reportKey.generation ?? 0;
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
      const { checks, reportKey } = await assertOpen();
      const [check] = checks;
      if (check === undefined || !equalBytes(await checkOf(masterKey), check)) {
        throw new ClientError('master_key_outdated');
      }
      return reportKey.generation;
    },

    async lookAtObjects() {
      await ready();
      const list = () => exchanged.list()?.writer;
      return lookAtObjects({ recollection, list, keep: (objects) => keep({ objects }) });
    },

    async madeDocument(id, state) {
      await ready();
      await saw(id, state);
    },

    async removedDocument(id) {
      await ready();
      await saw(id, { removed: true });
    },

    ...createPeople({ recollection, ready, keep }),

    async vaultKeys() {
      await ready();
      return recollection.vaultKeys();
    },

    async sawVaultKeys(fingerprints) {
      await ready();
      if (recollection.vaultKeys() === undefined)
        await keep({ vaultKeys: { first: [...fingerprints] } });
    },

    async sawAccount(shown) {
      // Not `ready`: the identity that verifies reports may have to be published first.
      await assertOpen();
      const known = recollection.account();
      if (known === undefined) await keep({ account: { own: shown } });
      const isKnown = known?.owner === shown.owner && known.issuer === shown.issuer;
      if (known !== undefined && !isKnown) throw new ClientError('account_mismatch');
    },

    async acceptDocument({ subject, id, signer, state }) {
      if (subject !== 'document' || id === undefined || state === undefined) {
        throw new TypeError('Only the state of a document can be accepted.');
      }
      await ready();
      await overrule(signer === undefined ? id : receivedName(signer, id), state);
    },

    async acceptReports({ subject, id, number }) {
      if (subject !== 'memory' || id === undefined || number === undefined) {
        throw new TypeError('Only the loss of reports of a device can be accepted.');
      }
      // Not `ready`: the reports cannot be read before.
      await keep({ lost: { [id]: number } });
      await exchange.restart(exchanged);
      reading = undefined;
    },

    async forgetDocument(id) {
      await ready();
      for (const name of recollection.namesOf(id.toLowerCase())) {
        await overrule(name, { forgotten: true });
      }
    },

    async endedShare(id) {
      // Not `ready`: the share ends, whatever the reports of other devices say.
      await keep({ given: { [id.toLowerCase()]: { ended: true } } });
    },

    async registeredDevice(deviceId) {
      await keep({ devices: { [deviceId.toLowerCase()]: 'registered' } });
    },

    async devices() {
      await ready();
      return recollection.devices();
    },

    async isRevoked(deviceId) {
      await ready();
      return recollection.isRevokedDevice(deviceId.toLowerCase());
    },

    async revokedDevice(deviceId) {
      // Not `ready`: reports of this very device may be what cannot be read.
      await keep({ devices: { [deviceId.toLowerCase()]: 'revoked' } });
    },

    async exchange() {
      await ready();
      await exchange.exchange(exchanged);
    },

    forgetAll: () =>
      inTurn(async () => {
        recollection.forgetAll();
        opened = undefined;
        reading = undefined;
        isForgotten = true;
      }),
  };
}

/** Derives what is kept of the present master key while the memory is open. */
async function derive(keys: ListedKeys): Promise<Omit<Opened, 'journal'>> {
  const checks = await Promise.all(listMasterKeys(keys).map(checkOf));
  return { reportKey: await deriveReportKey(keys), checks, list: keys.list };
}

async function checkOf(masterKey: Bytes): Promise<Bytes> {
  return deriveKey(masterKey, checkLabel);
}
