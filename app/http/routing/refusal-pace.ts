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
  dueAt: number;
  waiting: number;
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

  function senderAt(clientAddress: string): Sender {
    const network = networkOf(clientAddress);
    const sender = senders.get(network) ?? { dueAt: 0, waiting: 0 };
    senders.set(network, sender);
    return sender;
  }

  return {
    /**
     * Resolves when a refusal may be sent to a client address, after 10 seconds at most. Rejects
     * with an AbortError as soon as `signal` aborts.
     */
    async wait(clientAddress: string, signal: AbortSignal): Promise<void> {
      const now = performance.now();
      sweep(now);
      const sender = senderAt(clientAddress);
      const dueAt = Math.max(now, sender.dueAt) + intervalMs;
      sender.dueAt = Math.min(dueAt, now + aheadMs + maxWaitMs);
      const waitMs = sender.dueAt - now - aheadMs;
      if (waitMs <= 0 || sender.waiting >= maxWaiting) return;
      sender.waiting += 1;
      try {
        await setTimeout(waitMs, undefined, { signal });
      } finally {
        sender.waiting -= 1;
      }
    },
  };
}
