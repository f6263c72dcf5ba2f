import type { Tx } from '../../db/database.ts';
import type { InternalCaller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { Counts } from '../records/run-records.ts';

/** The request for a run. */
export type RunRequest = ServiceRequest<InternalCaller>;

export interface RunOptions {
  /** Whether the run counts what it would change, and changes nothing. */
  readonly dryRun: boolean;
}

/**
 * The work of one batch, in a transaction of the service login. Resolves with the counts of what
 * the batch did or, in a dry run, would do.
 */
export type Batch<C extends Counts> = (tx: Tx) => Promise<Partial<C>>;

/** Periodic work that is safe to interrupt, and to run twice at the same time. */
export interface MaintenanceTask<Name extends string, C extends Counts> {
  readonly name: Name;
  /** The report of a run that found nothing. */
  readonly nothing: C;
  /**
   * Yields the batches of a run. The next batch is requested after the previous batch has
   * committed.
   */
  batches(request: RunRequest, options: RunOptions): AsyncIterable<Batch<C>>;
}

/** Yields a batch repeatedly, until the sum of its counts is less than `size`. */
export async function* whileFull<C extends Counts>(
  size: number,
  batch: Batch<C>,
): AsyncGenerator<Batch<C>> {
  let found = 0;
  for (;;) {
    yield async (tx) => {
      const counts = await batch(tx);
      found = sumOf(counts);
      return counts;
    };
    if (found < size) return;
  }
}

export function sumOf(counts: Partial<Counts>): number {
  return Object.values(counts).reduce<number>((sum, count = 0) => sum + count, 0);
}
