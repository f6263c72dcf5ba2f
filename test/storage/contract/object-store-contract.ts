import test from 'ava';
import type { ObjectStore } from '../../../app/storage/interface/object-store.ts';
import { completionContract } from './completion-contract.ts';
import { objectContract } from './object-contract.ts';
import { partContract } from './part-contract.ts';
import { readContract } from './read-contract.ts';
import type { Guarantee } from '../../support/documents/stored.ts';

/** Defines the tests of what every object store guarantees. `openStore` is called once. */
export function objectStoreContract(name: string, openStore: () => Promise<ObjectStore>): void {
  let store: ObjectStore;
  test.before(async () => {
    store = await openStore();
  });
  test.after.always(() => store?.close());

  const guarantee: Guarantee = (title, body) => {
    test(`${name}: ${title}`, (t) => body(t, store));
  };
  partContract(guarantee);
  completionContract(guarantee);
  readContract(guarantee);
  objectContract(guarantee);
  guarantee('a ping resolves', async (t, store) => {
    await t.notThrowsAsync(store.ping());
  });
}
