import { countOldAddresses, removeOldAddresses } from '../../auth/login/known-client-addresses.ts';
import {
  countOldSessions,
  removeEndedSessions,
  removeExpiredSessions,
} from '../../sessions/kept-sessions.ts';
import type { Clock } from '../../async/clock.ts';
import { countOldBindings, removeOldBindings } from '../../devices/expired-bindings.ts';
import { countOldKeys, removeOldKeys } from '../../idempotency/expired-keys.ts';
import {
  countExpiredExports,
  removeExpiredExports,
} from '../../evidence-exports/rows/export-rows.ts';
import type { UnfinishedMfa } from '../../mfa/unfinished.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import { countOldReplaced, removeOldReplaced } from '../../replaced-keys/rows/replaced-keys.ts';
import {
  countOldHistory,
  countOldUndos,
  forgetOldUndos,
  removeOldHistory,
} from '../../sync/objects/expired-history.ts';
import { countOldRequests, removeOldRequests } from '../../sync/objects/expired-requests.ts';
import type { Garbage } from '../../uploads/cleanup/garbage.ts';
import { whileFull, type Batch, type MaintenanceTask } from './task.ts';

const nothing = {
  abortedUploads: 0,
  deletedObjects: 0,
  removedIdempotencyKeys: 0,
  removedSyncRequests: 0,
  removedSyncHistory: 0,
  forgottenSyncUndos: 0,
  removedAddresses: 0,
  removedLoginSessions: 0,
  removedSessionDevices: 0,
  removedReplacedKeys: 0,
  removedExports: 0,
  settledMfaChanges: 0,
};

type Collected = typeof nothing;
type CollectGarbage = MaintenanceTask<'collect-garbage', Collected>;

const batchSize = 1_000;

interface CollectGarbageOptions {
  readonly outbox: Outbox;
  readonly garbage: Garbage;
  readonly unfinishedMfa: UnfinishedMfa;
  readonly clock: Clock;
}

/**
 * Creates the task that removes unreferenced objects from the object store, and expired rows of the
 * database, and that ends changes of MFA which were begun and not finished.
 */
export function createCollectGarbage({
  outbox,
  garbage,
  unfinishedMfa,
  clock,
}: CollectGarbageOptions): CollectGarbage {
  async function* removeRows(): AsyncGenerator<Batch<Collected>> {
    yield* whileFull(batchSize, async (tx) => ({
      removedIdempotencyKeys: await removeOldKeys(tx, batchSize),
    }));
    yield* whileFull(batchSize, async (tx) => ({
      removedSyncRequests: await removeOldRequests(tx, batchSize),
    }));
    yield* whileFull(batchSize, async (tx) => ({
      removedSyncHistory: await removeOldHistory(tx, batchSize),
    }));
    yield* whileFull(batchSize, async (tx) => ({
      forgottenSyncUndos: await forgetOldUndos(tx, batchSize),
    }));
    yield* whileFull(batchSize, async (tx) => ({
      removedAddresses: await removeOldAddresses(tx, clock(), batchSize),
    }));
    yield* whileFull(batchSize, async (tx) => ({
      removedSessionDevices: await removeOldBindings(tx, clock(), batchSize),
    }));
    yield* whileFull(batchSize, async (tx) => ({
      removedReplacedKeys: await removeOldReplaced(tx, clock(), batchSize),
    }));
    yield* whileFull(batchSize, async (tx) => ({
      removedExports: await removeExpiredExports(tx, outbox, batchSize),
    }));
    yield* whileFull(batchSize, async (tx) => ({
      removedLoginSessions: await removeExpiredSessions(tx, clock(), batchSize),
    }));
    yield* whileFull(batchSize, async (tx) => ({
      removedLoginSessions: await removeEndedSessions(tx, clock(), batchSize),
    }));
    for await (const settledMfaChanges of unfinishedMfa.settleAll()) {
      yield async () => ({ settledMfaChanges });
    }
  }

  async function* countRows(): AsyncGenerator<Batch<Collected>> {
    yield async (tx) => ({
      removedIdempotencyKeys: await countOldKeys(tx),
      removedSyncRequests: await countOldRequests(tx),
      removedSyncHistory: await countOldHistory(tx),
      forgottenSyncUndos: await countOldUndos(tx),
      removedAddresses: await countOldAddresses(tx, clock()),
      removedLoginSessions: await countOldSessions(tx, clock()),
      removedSessionDevices: await countOldBindings(tx, clock()),
      removedReplacedKeys: await countOldReplaced(tx, clock()),
      removedExports: await countExpiredExports(tx),
      settledMfaChanges: await unfinishedMfa.count(tx),
    });
  }

  return {
    name: 'collect-garbage',
    nothing,
    async *batches(_request, { dryRun }) {
      // Rows are removed first, since their removal does not need the object store.
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
