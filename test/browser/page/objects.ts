import { forgetSyncDatabase, openSyncDatabase } from '../../../client/browser/sync-database.ts';
import type { JsonObject } from '../../../client/sync/objects/json.ts';
import type { Sync } from '../../../client/sync/sync.ts';
import type { SyncEvent } from '../../../client/sync/exchange/events.ts';
import { present } from './account.ts';

/** Longer than the client's own limit, for slow machines. */
const patienceLimitMs = 30_000;

interface OfStore {
  /** The name of the browser database. */
  readonly name: string;
}

interface Opening extends OfStore {
  readonly deviceId: string;
  readonly clockAheadMs?: number;
  readonly patienceMs?: number;
}

interface OfObject {
  readonly objectId: string;
}

let opened: Sync | undefined;
let events: AsyncGenerator<SyncEvent, void, void> | undefined;

export const objectSteps = {
  /** @param clockAheadMs Milliseconds by which the device's clock is ahead. */
  async openObjects({ name, deviceId, clockAheadMs = 0, patienceMs = patienceLimitMs }: Opening) {
    const { session, masterKey } = present();
    const signal = AbortSignal.timeout(patienceMs);
    const store = await openSyncDatabase({ name, masterKey, signal });
    const now = () => new Date(Date.now() + clockAheadMs);
    const options = { masterKey, deviceId, schemaVersion: 1, store, now };
    opened = await session.sync(options);
  },

  forgetObjects: ({ name }: OfStore) =>
    forgetSyncDatabase(name, AbortSignal.timeout(patienceLimitMs)),

  createObject: ({ data }: { data: JsonObject }) => objects().create({ data }),

  changeObject: ({ objectId, data }: OfObject & { data: JsonObject }) =>
    objects().change(objectId, (before) => ({ ...before, ...data })),

  listObjects: () => objects().list(),
  readObject: async ({ objectId }: OfObject) => (await objects().get(objectId))?.data,
  pendingKinds: () =>
    objects()
      .pending()
      .map(({ kind }) => kind),
  syncObjects: () => objects().sync(),

  /** Resolves with the first event's type once the vault reports all further changes. */
  async listen({ deviceId }: { readonly deviceId: string }) {
    events = present().session.syncEvents({ deviceId });
    return (await events.next()).value?.type;
  },

  /** Resolves with the next change. */
  async hear() {
    for (;;) {
      const event = (await events?.next())?.value;
      if (event?.type !== 'ready') return event;
    }
  },
};

function objects(): Sync {
  if (opened === undefined) throw new Error('no store is open');
  return opened;
}
