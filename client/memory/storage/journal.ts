import type { Bytes } from '../../bytes/bytes.ts';
import { ClientError } from '../../errors/client-error.ts';
import { generationOf, listMasterKeys, type MasterKeys } from '../../keys/master-keys.ts';
import { createTurns } from '../../async/turns.ts';
import {
  deriveMemoryKey,
  openRecord,
  sealRecord,
  writtenUnder,
  type MemoryKey,
} from './memory-record.ts';
import type { MemoryStore } from './memory-store.ts';
import { applyTo, changesIn, createLayer } from '../values/layer.ts';
import { kinds, type StoredChanges } from '../values/remembered.ts';
import { RolledBackError } from '../values/rolled-back-error.ts';

/** Number of records after which all are replaced by one. */
const maxRecords = 500;

export type Journal = Awaited<ReturnType<typeof openJournal>>;

/**
 * Opens a store with the user's master keys and returns the records in it, and the way to write
 * more. All records are encrypted again if a rekey took place since they were written. Throws
 * RolledBackError if a record was written under a later master key, store_of_another_user if one
 * does not open, and what the store throws.
 * @param summary returns all that is remembered, for the record that replaces all others
 */
export async function openJournal(
  store: MemoryStore,
  keys: MasterKeys,
  summary: () => StoredChanges,
) {
  const records = await store.load();
  const contents = await openAll(keys, records);
  let key = await deriveMemoryKey(keys.masterKey, generationOf(keys));
  const isPresent = (record: Bytes) => writtenUnder(record) === key.generation;
  let count = records.length;
  /** Whether the next write replaces all records: none is there, or a rekey came after them. */
  let isStale = records.length === 0 || !records.every(isPresent);
  /** Changes that no write has taken up yet. */
  let waiting: StoredChanges[] = [];
  const inTurn = createTurns();

  async function write(): Promise<void> {
    const changes = waiting;
    waiting = [];
    if (changes.length === 0 && !isStale) return;
    try {
      if (isStale || count >= maxRecords) {
        await store.replace(await sealRecord(key, summary()));
        count = 1;
        isStale = false;
      } else {
        await store.append(await sealRecord(key, joined(changes)));
        count += 1;
      }
    } catch (error) {
      // The next write takes up what this one lost.
      isStale = true;
      throw error;
    }
  }

  return {
    contents,
    /** Whether all records were written before the last rekey. */
    isOutdated: records.length > 0 && !records.some(isPresent),

    /** Resolves once changes are durable. Concurrent calls share a record. */
    async append(changes: StoredChanges): Promise<void> {
      waiting.push(changes);
      await inTurn(write);
    },

    /** Encrypts everything under the present master key, unless it is already. */
    refresh: () => inTurn(write),

    /** Encrypts everything under another master key from now on. */
    async changeKey(present: MemoryKey): Promise<void> {
      key = present;
      isStale = true;
      await inTurn(write);
    },
  };
}

async function openAll(
  keys: MasterKeys,
  records: readonly Bytes[],
): Promise<readonly StoredChanges[]> {
  const present = generationOf(keys);
  const byGeneration = new Map<number, MemoryKey>();
  const contents: StoredChanges[] = [];
  for (const record of records) {
    const generation = writtenUnder(record);
    if (generation > present) throw keyRolledBack(generation, present);
    const known = byGeneration.get(generation);
    const key = known ?? (await findKey(keys, generation));
    byGeneration.set(generation, key);
    contents.push(await openNext(key, record, contents.length > 0));
  }
  return contents;
}

/** Opens a record. If an earlier one could be opened, the store is the user's and damaged. */
async function openNext(key: MemoryKey, record: Bytes, isOfUser: boolean): Promise<StoredChanges> {
  try {
    return await openRecord(key, record);
  } catch (cause) {
    throw isOfUser ? new ClientError('store_damaged', { cause }) : cause;
  }
}

async function findKey(keys: MasterKeys, generation: number): Promise<MemoryKey> {
  const masterKey = listMasterKeys(keys)[generationOf(keys) - generation];
  if (masterKey === undefined) throw new ClientError('store_damaged');
  return deriveMemoryKey(masterKey, generation);
}

export function keyRolledBack(remembered: number, shown: number): RolledBackError {
  return new RolledBackError({
    subject: 'master_key',
    remembered: `generation ${remembered}`,
    shown: `generation ${shown}`,
  });
}

/** Returns all changes as one. Later ones win. */
function joined(changes: readonly StoredChanges[]): StoredChanges {
  const seen = createLayer();
  const told = new Map<string, ReturnType<typeof createLayer>>();
  for (const each of changes) {
    applyTo(seen, each);
    for (const [writer, values] of Object.entries(each.told)) {
      const layer = told.get(writer) ?? createLayer();
      told.set(writer, layer);
      applyTo(layer, values);
    }
  }
  const exchanged = changes.findLast((each) => each.exchanged !== undefined)?.exchanged;
  const forgotten = changes.findLast((each) => each.forgottenList !== undefined)?.forgottenList;
  const untold = joinUntold(changes);
  return {
    ...changesIn(seen),
    told: Object.fromEntries(Array.from(told, ([writer, layer]) => [writer, changesIn(layer)])),
    ...(exchanged !== undefined && { exchanged }),
    ...(forgotten !== undefined && { forgottenList: forgotten }),
    ...(untold !== undefined && { untold }),
  };
}

/** Returns the values that are untold after changes; undefined if they only add some. */
function joinUntold(changes: readonly StoredChanges[]): StoredChanges['untold'] {
  let untold: Record<string, string[]> | undefined;
  for (const each of changes) {
    if (each.untold !== undefined) {
      untold = Object.fromEntries(kinds.map((kind) => [kind, each.untold?.[kind] ?? []]));
    } else if (untold !== undefined) {
      for (const kind of kinds) {
        untold[kind] = [...(untold[kind] ?? []), ...Object.keys(each[kind])];
      }
    }
  }
  return untold;
}
