import { IDBDatabase, IDBObjectStore } from 'fake-indexeddb';

interface FakeObjectStore {
  readonly transaction: { abort(): void; _abort(name: string): void };
  readonly _rawObjectStore: { storeRecord?: () => never };
}

type Fault = (store: FakeObjectStore, put: () => unknown) => unknown;

/** Faults of a browser at a put, made by means of fake-indexeddb. */
export const faults = {
  abort(store, put) {
    const request = put();
    store.transaction.abort();
    return request;
  },
  fullAtCommit(store, put) {
    const request = put();
    store.transaction._abort('QuotaExceededError');
    return request;
  },
  fullAtRequest({ _rawObjectStore: raw }, put) {
    raw.storeRecord = () => {
      throw new DOMException('', 'QuotaExceededError');
    };
    const request = put();
    delete raw.storeRecord;
    return request;
  },
} satisfies Record<string, Fault>;

/** Makes the second put from now on fail. */
export function failSecondPut(fault: Fault): void {
  const { put } = IDBObjectStore.prototype;
  let puts = 0;
  IDBObjectStore.prototype.put = function (this: FakeObjectStore, ...args: unknown[]) {
    puts += 1;
    if (puts < 2) return put.apply(this, args);
    IDBObjectStore.prototype.put = put;
    return fault(this, () => put.apply(this, args));
  };
}

export interface BegunTransaction {
  readonly database: typeof IDBDatabase;
  readonly mode: string;
  readonly durability: string | undefined;
}

/** Returns the transactions that begin until `act` has ended. */
export async function watchTransactions(act: () => Promise<unknown>): Promise<BegunTransaction[]> {
  const { transaction } = IDBDatabase.prototype;
  const begun: BegunTransaction[] = [];
  IDBDatabase.prototype.transaction = function (
    this: typeof IDBDatabase,
    names: string[],
    mode: string,
    options?: { durability: string },
  ) {
    begun.push({ database: this, mode, durability: options?.durability });
    return transaction.call(this, names, mode, options);
  };
  try {
    await act();
  } finally {
    IDBDatabase.prototype.transaction = transaction;
  }
  return begun;
}
