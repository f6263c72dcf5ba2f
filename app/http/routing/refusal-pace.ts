import { setTimeout } from 'node:timers/promises';
import { networkOf } from '../../limits/network.ts';

/** Refusals of one client address that are sent at once after a quiet time. */
export const refusalBurst = 100;
/** Refusals of one client address that wait. Further ones are sent at once. */
const maxWaiting = 256;
const maxWaitMs = 10_000;
/** Number of addresses above which those without a wait are forgotten. */
const sweepAbove = 1_000;

interface Sender {
  /** The moment, of performance.now(), from which the next refusal is in time. */
  readonly dueAt: number;
  /** The number of refusals that wait. */
  readonly waiting: number;
}

export type RefusalPace = ReturnType<typeof createRefusalPace>;

/**
 * Creates the pace at which refusals are sent. A refusal costs as much as a small request, and a
 * client that is refused at once asks again at once. So each client address gets `perSecond` of
 * them, and further ones wait.
 */
export function createRefusalPace(perSecond: number) {
  const intervalMs = 1_000 / perSecond;
  const aheadMs = refusalBurst * intervalMs;
  const senders = new Map<string, Sender>();

  function sweep(now: number): void {
    if (senders.size <= sweepAbove) return;
    for (const [network, { dueAt, waiting }] of senders) {
      if (dueAt <= now && waiting === 0) senders.delete(network);
    }
  }

  /** Changes members of what is known of a network. */
  function note(network: string, change: Partial<Sender>): void {
    senders.set(network, { ...senderOf(network), ...change });
  }

  const senderOf = (network: string): Sender => senders.get(network) ?? { dueAt: 0, waiting: 0 };

  return {
    /**
     * Resolves when a refusal may be sent to a client address, after 10 seconds at most. Rejects
     * with an AbortError as soon as `signal` aborts.
     */
    async wait(clientAddress: string, signal: AbortSignal): Promise<void> {
      const now = performance.now();
      sweep(now);
      const network = networkOf(clientAddress);
      const { dueAt: lastDueAt, waiting } = senderOf(network);
      const inTime = Math.max(now, lastDueAt) + intervalMs;
      const dueAt = Math.min(inTime, now + aheadMs + maxWaitMs);
      const waitMs = dueAt - now - aheadMs;
      note(network, { dueAt });
      if (waitMs <= 0 || waiting >= maxWaiting) return;
      note(network, { waiting: waiting + 1 });
      try {
        await setTimeout(waitMs, undefined, { signal });
      } finally {
        note(network, { waiting: senderOf(network).waiting - 1 });
      }
    },
  };
}
