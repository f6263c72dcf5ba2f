import { countParked, takeUpParked } from '../../outbox/parked.ts';
import { whileFull, type MaintenanceTask } from './task.ts';

const nothing = { resumedMessages: 0 };

const batchSize = 1_000;

/** The task that takes parked messages of the outbox up again. */
export const drainOutbox: MaintenanceTask<'drain-outbox', typeof nothing> = {
  name: 'drain-outbox',
  nothing,
  async *batches(_request, { dryRun }) {
    if (dryRun) yield async (tx) => ({ resumedMessages: await countParked(tx) });
    else {
      yield* whileFull(batchSize, async (tx) => ({
        resumedMessages: await takeUpParked(tx, batchSize),
      }));
    }
  },
};
