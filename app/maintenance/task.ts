import type { Tx } from '../db/database.ts';

/** How many of each kind. */
export type Counts = Record<string, number>;

/** Who asks for a run, and for which. */
export interface RunRequest {
  /** Counts what would be done and does nothing. */
  readonly dryRun: boolean;
  /** The name of the internal API key. */
  readonly requestedBy: string;
  readonly requestId: string;
}

/** A transaction of the service's. Answers what it did, or would. */
export type Batch<C extends Counts> = (tx: Tx) => Promise<Partial<C>>;

/** Work that is done now and then, and is safe to cut off and to do twice at once. */
export interface MaintenanceTask<Name extends string, C extends Counts> {
  readonly name: Name;
  /** What a run reports that found nothing. */
  readonly nothing: C;
  /** What a run does, one after the other; the next is asked for once the last has committed. */
  batches(request: RunRequest): AsyncIterable<Batch<C>>;
}

/** A batch again and again, until it finds fewer than `size`. */
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
