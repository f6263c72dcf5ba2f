import type { Logger } from 'pino';
import type { Election } from '../election/election.ts';
import type { Again } from './follow.ts';

/** The least time between two passes, so that a resource that never settles costs little. */
const minPauseMs = 1_000;
/** The most time between two passes: what pods say is not watched. */
const maxPauseMs = 15_000;
const campaignMs = 2_000;

interface LoopOptions {
  readonly passes: readonly (() => Promise<readonly Again[]>)[];
  readonly election: Election;
  readonly clock: () => Date;
  readonly onPass: (result: 'ok' | 'failed') => void;
  readonly log: Logger;
  readonly stop: AbortSignal;
  readonly pauses?: { readonly minMs: number; readonly maxMs: number };
}

export type Loop = ReturnType<typeof createLoop>;

/** Creates the loop that makes a pass over all resources whenever there may be something to do. */
export function createLoop(options: LoopOptions) {
  const { passes, election, clock, onPass, log, stop } = options;
  const { minMs, maxMs } = options.pauses ?? { minMs: minPauseMs, maxMs: maxPauseMs };
  let wake = Promise.withResolvers<void>();

  /** Makes one pass. Returns the milliseconds until the next one, unless something wakes it. */
  async function passOnce(): Promise<number> {
    if (!election.isLeader()) return maxMs;
    try {
      const again = (await Promise.all(passes.map((pass) => pass()))).flat();
      onPass('ok');
      return nextPause(again, clock().getTime(), { minMs, maxMs });
    } catch (error) {
      onPass('failed');
      log.error({ err: error }, 'a pass failed; the next one begins anew');
      return maxMs;
    }
  }

  return {
    /** Makes the next pass soon. */
    wake: () => wake.resolve(),

    /** Makes passes until `stop` aborts. */
    async run(): Promise<void> {
      while (!stop.aborted) {
        const pauseMs = await passOnce();
        await pause(minMs, stop);
        await Promise.race([wake.promise, pause(Math.max(0, pauseMs - minMs), stop)]);
        wake = Promise.withResolvers<void>();
      }
    },

    /** Takes part in the election until `stop` aborts, then resigns. */
    async campaign(): Promise<void> {
      let isLeader = false;
      while (!stop.aborted) {
        await election
          .campaign()
          .catch((error: unknown) => log.warn({ err: error }, 'the Lease could not be renewed'));
        if (election.isLeader() !== isLeader) {
          isLeader = election.isLeader();
          log.info(isLeader ? 'leading' : 'not leading');
          wake.resolve();
        }
        await pause(campaignMs, stop);
      }
      await election
        .resign()
        .catch((error: unknown) => log.warn({ err: error }, 'the Lease could not be given up'));
    },
  };
}

/** Returns the milliseconds until the next pass. */
export function nextPause(
  again: readonly Again[],
  now: number,
  { minMs, maxMs }: { readonly minMs: number; readonly maxMs: number },
): number {
  const waits = again.map((one) => {
    if (one === 'soon') return minMs;
    return one === undefined ? maxMs : one.getTime() - now;
  });
  return Math.max(minMs, Math.min(maxMs, ...waits));
}

/** Resolves after `ms` or as soon as `stop` aborts. */
async function pause(ms: number, stop: AbortSignal): Promise<void> {
  if (stop.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const end = () => resolve();
  stop.addEventListener('abort', end, { once: true });
  await promise;
  clearTimeout(timer);
  stop.removeEventListener('abort', end);
}
