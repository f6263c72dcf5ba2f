import { removeExpired } from '../auth/sessions/login-sessions.ts';
import type { Clock } from '../clock.ts';
import type { Tx } from '../db/database.ts';
import { countOldBindings, removeOldBindings } from '../devices/old-bindings.ts';
import { countOldKeys, removeOldKeys } from '../idempotency/old-keys.ts';
import { countOldRequests, removeOldRequests } from '../sync/old-requests.ts';
import type { Garbage } from '../uploads/garbage.ts';
import { countOldAddresses, removeOldAddresses } from './known-addresses.ts';
import { whileFull, type Batch, type MaintenanceTask } from './task.ts';

const nothing = {
  abortedUploads: 0,
  deletedObjects: 0,
  removedIdempotencyKeys: 0,
  removedSyncRequests: 0,
  removedAddresses: 0,
  removedLoginSessions: 0,
  removedSessionDevices: 0,
};

type Collected = typeof nothing;
type CollectGarbage = MaintenanceTask<'collect-garbage', Collected>;

const batchSize = 1_000;
const dayMs = 86_400_000;
/** A day more than they are looked at. */
const addressesKeptMs = 31 * dayMs;
/** How long sessions that ended are kept, so that the reuse of their refresh tokens is noticed. */
const sessionsKeptMs = 30 * dayMs;
/** Longer than other issuers let a session live: one that outlived its binding could be bound anew. */
const bindingsKeptMs = 400 * dayMs;

interface CollectGarbageOptions {
  readonly garbage: Garbage;
  readonly clock: Clock;
}

/** Removes what nothing refers to from the object store, and rows that are no longer looked at. */
export function createCollectGarbage({ garbage, clock }: CollectGarbageOptions): CollectGarbage {
  const ago = (ms: number) => new Date(clock().getTime() - ms);

  async function* removeRows(): AsyncGenerator<Batch<Collected>> {
    yield* whileFull(batchSize, async (tx) => ({
      removedIdempotencyKeys: await removeOldKeys(tx, batchSize),
    }));
    yield* whileFull(batchSize, async (tx) => ({
      removedSyncRequests: await removeOldRequests(tx, batchSize),
    }));
    yield* whileFull(batchSize, async (tx) => ({
      removedAddresses: await removeOldAddresses(tx, ago(addressesKeptMs), batchSize),
    }));
    yield* whileFull(batchSize, async (tx) => ({
      removedSessionDevices: await removeOldBindings(tx, ago(bindingsKeptMs), batchSize),
    }));
    yield async (tx) => ({ removedLoginSessions: await removeExpired(tx, ago(sessionsKeptMs)) });
  }

  async function* countRows(): AsyncGenerator<Batch<Collected>> {
    yield async (tx) => ({
      removedIdempotencyKeys: await countOldKeys(tx),
      removedSyncRequests: await countOldRequests(tx),
      removedAddresses: await countOldAddresses(tx, ago(addressesKeptMs)),
      removedLoginSessions: await countSessions(tx, ago(sessionsKeptMs)),
      removedSessionDevices: await countOldBindings(tx, ago(bindingsKeptMs)),
    });
  }

  return {
    name: 'collect-garbage',
    nothing,
    async *batches({ dryRun }) {
      // First, as they do not need the store.
      yield* dryRun ? countRows() : removeRows();
      for await (const page of garbage.findUploads()) {
        yield async (tx) => ({
          abortedUploads: dryRun ? page.length : await garbage.abortUploads(tx, page),
        });
      }
      for await (const page of garbage.findObjects()) {
        yield async (tx) => ({
          deletedObjects: dryRun ? page.length : await garbage.deleteObjects(tx, page),
        });
      }
    },
  };
}

async function countSessions(tx: Tx, before: Date): Promise<number> {
  const { count } = await tx
    .selectFrom('login_sessions')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('expires_at', '<', before)
    .executeTakeFirstOrThrow();
  return count;
}
