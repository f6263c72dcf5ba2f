import { randomUUID } from 'node:crypto';
import { randomBytes } from '@noble/hashes/utils.js';
import test from 'ava';
import type { MasterKeys } from '../../../client/keys/master-keys.ts';
import { createMemory } from '../../../client/memory/create-memory.ts';
import type { Memory } from '../../../client/memory/memory.ts';
import type { MemoryStore } from '../../../client/memory/storage/memory-store.ts';
import type { DocumentState } from '../../../client/memory/values/remembered.ts';
import { createTestMemory } from '../../support/client/memory-store.ts';

const [first, second, other] = [randomBytes(32), randomBytes(32), randomBytes(32)];
const beforeRekey: MasterKeys = { masterKey: first };
const afterRekey: MasterKeys = { masterKey: second, earlierKeys: [first] };

const stateOf = (version: number, change = 0): DocumentState => ({
  version,
  change,
  metadataHash: `${version}${change}`.padStart(64, '0'),
});

/** This device is the user's only one. */
const nothing = async () => {};
const withNobody = { read: nothing, exchange: nothing, restart: nothing };

/** Opens what a store remembers, in a session to which the vault shows these keys. */
function openWith(store: MemoryStore | undefined, keys: MasterKeys): Memory {
  const memory: Memory = createMemory({
    store,
    openKeys: () => memory.lookAtKeys().sawMasterKeys(keys, 'password'),
    exchange: withNobody,
  });
  return memory;
}

const opening = (store: MemoryStore, keys: MasterKeys) => openWith(store, keys).look();

async function see(memory: Memory, id: string, state: DocumentState): Promise<void> {
  const look = await memory.look();
  await look.sawDocument(id, state);
}

test('a later session on the device remembers what an earlier one has seen', async (t) => {
  const store = createTestMemory();
  const [id, removed] = [randomUUID(), randomUUID()];
  const memory = openWith(store, beforeRekey);
  await see(memory, id, stateOf(2));
  await see(memory, removed, stateOf(1));
  await memory.removedDocument(removed);
  await memory.confirmedPerson({ ownerId: 'ann', email: 'ann@a.example' }, 'f1');
  await memory.confirmedPerson({ ownerId: 'ann', email: 'ann@a.example' }, 'f2');
  await memory.sawVaultKeys(['v1']);

  const later = openWith(store, beforeRekey);
  await t.throwsAsync(see(later, id, stateOf(1, 7)), { code: 'rolled_back' });
  await t.throwsAsync(see(later, id.toUpperCase(), stateOf(1)), { code: 'rolled_back' });
  await t.throwsAsync(see(later, removed, stateOf(9)), { code: 'rolled_back' });
  await t.notThrowsAsync(see(later, id, stateOf(2)));
  await t.notThrowsAsync(see(later, id, stateOf(2, 1)));
  const ann = { fingerprints: ['f2', 'f1'], email: 'ann@a.example' };
  t.deepEqual(await later.person('ann'), ann);
  t.deepEqual(await later.person('ann@a.example'), ann);
  t.is(await later.person('bob'), undefined);
  t.deepEqual(await later.vaultKeys(), ['v1']);
});

test('what is remembered already is not written again', async (t) => {
  const store = createTestMemory();
  const id = randomUUID();
  const memory = openWith(store, beforeRekey);
  await see(memory, id, stateOf(2));
  await memory.confirmedPerson({ ownerId: 'ann' }, 'f1');
  const before = store.records().length;
  await see(memory, id, stateOf(2));
  await memory.confirmedPerson({ ownerId: 'ann' }, 'f1');
  await memory.sawVaultKeys(['v1']);
  await memory.sawVaultKeys(['v1']);
  t.is(store.records().length, before + 1);
});

test('a store tells nothing without the master key', async (t) => {
  const store = createTestMemory();
  const id = randomUUID();
  await see(openWith(store, beforeRekey), id, stateOf(2));
  const text = Buffer.concat(store.records()).toString('latin1');
  t.false(text.includes(id));
  t.false(text.includes('version'));
});

test('the store of another user is refused and left alone', async (t) => {
  const store = createTestMemory();
  await see(openWith(store, beforeRekey), randomUUID(), stateOf(1));
  const before = store.records();
  await t.throwsAsync(opening(store, { masterKey: other }), { code: 'store_of_another_user' });
  await t.throwsAsync(opening(store, { masterKey: second, earlierKeys: [other] }), {
    code: 'store_of_another_user',
  });
  t.is(store.records(), before);
});

for (const [kind, damage] of [
  ['cut', (record: Uint8Array) => record.slice(0, 20)],
  ['empty', () => new Uint8Array()],
  ['of a later format', (record: Uint8Array) => record.with(0, 2)],
  ['changed', (record: Uint8Array) => record.with(30, (record[30] ?? 0) ^ 1)],
  ['of generation 0', (record: Uint8Array) => record.with(4, 0)],
] as const) {
  test(`a store with a damaged record is refused: ${kind}`, async (t) => {
    const store = createTestMemory();
    const memory = openWith(store, beforeRekey);
    await see(memory, randomUUID(), stateOf(1));
    await see(memory, randomUUID(), stateOf(1));
    const [whole, last] = store.records();
    const damagedRecord = new Uint8Array(damage(last ?? new Uint8Array()));
    const damaged = { ...store, load: async () => [whole ?? new Uint8Array(), damagedRecord] };
    await t.throwsAsync(opening(damaged, beforeRekey), { code: 'store_damaged' });
  });
}

test('after a rekey, the store is encrypted anew and refuses the earlier key', async (t) => {
  const store = createTestMemory();
  const id = randomUUID();
  await see(openWith(store, beforeRekey), id, stateOf(2));
  await t.throwsAsync(see(openWith(store, afterRekey), id, stateOf(1)), { code: 'rolled_back' });
  t.is(store.records().length, 1);
  const refused = await t.throwsAsync(opening(store, beforeRekey), { code: 'rolled_back' });
  t.like(refused, { subject: 'master_key', remembered: 'generation 2', shown: 'generation 1' });
  await t.throwsAsync(opening(store, { masterKey: other, earlierKeys: [first] }), {
    code: 'store_of_another_user',
  });
});

test('a session notices the master keys that a vault exchanges', async (t) => {
  const memory = openWith(undefined, afterRekey);
  await memory.look();
  const show = (keys: MasterKeys, source: 'password' | 'device' = 'password') =>
    memory.lookAtKeys().sawMasterKeys(keys, source);
  await t.notThrowsAsync(show(afterRekey, 'device'));
  await t.throwsAsync(show(beforeRekey), { code: 'rolled_back' });
  await t.throwsAsync(show({ masterKey: other, earlierKeys: [first] }), { code: 'rolled_back' });
  const third = { masterKey: other, earlierKeys: [second, first] };
  await t.throwsAsync(show(third, 'device'), { code: 'rekey_unconfirmed' });
  const foreign = { masterKey: other, earlierKeys: [other, first] };
  await t.throwsAsync(show(foreign), { code: 'rolled_back' });
  await t.notThrowsAsync(show(third));
  await t.notThrowsAsync(show(third, 'device'));
});

test('an answer with the earlier master key that a rekey overtook is no lie', async (t) => {
  const memory = openWith(undefined, beforeRekey);
  await memory.look();
  const overtaken = memory.lookAtKeys();
  await memory.lookAtKeys().sawMasterKeys(afterRekey, 'password');
  await t.notThrowsAsync(overtaken.sawMasterKeys(beforeRekey, 'password'));
  await t.throwsAsync(overtaken.sawMasterKeys({ masterKey: other }, 'device'), {
    code: 'rolled_back',
  });
  await t.throwsAsync(memory.lookAtKeys().sawMasterKeys(beforeRekey, 'password'), {
    code: 'rolled_back',
  });
});

test('what a full store refused is written with the next change', async (t) => {
  const store = createTestMemory();
  let isFull = false;
  const refusing = <T>(write: () => Promise<T>) =>
    isFull ? Promise.reject(new Error('full')) : write();
  const memory = openWith(
    {
      load: store.load,
      append: (record) => refusing(() => store.append(record)),
      replace: (record) => refusing(() => store.replace(record)),
    },
    beforeRekey,
  );
  const [one, two, three] = [randomUUID(), randomUUID(), randomUUID()];
  await see(memory, one, stateOf(2));
  isFull = true;
  await t.throwsAsync(see(memory, two, stateOf(2)), { message: 'full' });
  isFull = false;
  await see(memory, three, stateOf(2));
  for (const id of [one, two, three]) {
    await t.throwsAsync(see(openWith(store, beforeRekey), id, stateOf(1)), { code: 'rolled_back' });
  }
});

test('what the user forgets is believed anew, and stays forgotten', async (t) => {
  const store = createTestMemory();
  const [id, kept] = [randomUUID(), randomUUID()];
  const memory = openWith(store, afterRekey);
  await see(memory, id, stateOf(2));
  await see(memory, kept, stateOf(2));
  await memory.forgetDocument(id.toUpperCase());
  const later = openWith(store, afterRekey);
  await t.notThrowsAsync(see(later, id, stateOf(1)));
  await t.throwsAsync(see(later, kept, stateOf(1)), { code: 'rolled_back' });

  const anew = openWith(store, beforeRekey);
  await t.throwsAsync(anew.look(), { code: 'rolled_back' });
  await anew.forgetAll();
  await t.notThrowsAsync(see(anew, kept, stateOf(1)));
  const again = openWith(store, beforeRekey);
  await t.notThrowsAsync(see(again, id, stateOf(1)));
  await t.throwsAsync(see(again, kept, stateOf(1, -1)), { code: 'rolled_back' });
});

test('10,000 documents take less than 5 MB', async (t) => {
  const store = createTestMemory();
  const memory = openWith(store, beforeRekey);
  for (let count = 0; count < 10_000; count += 1) {
    await memory.madeDocument(randomUUID(), stateOf(1));
  }
  const bytes = store.records().reduce((sum, record) => sum + (record.length * 4) / 3, 0);
  t.true(bytes < 5_000_000, `${bytes}`);
  t.true(store.records().length <= 500);
});
