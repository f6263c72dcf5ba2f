import { createWakeSignal, type WakeSignal } from '../../async/wake-signal.ts';
import type { WakeChannels } from '../../redis/wake-channels.ts';

/** Waits for the seal of one entry, from its creation until it is disposed of. */
export interface SealWatch extends Disposable {
  /** Resolves once a process has told that the entry is sealed, or after `ms`. */
  sealed(ms: number): Promise<void>;
}

const never = new AbortController().signal;

/**
 * Opens the channel on which processes tell each other which entries they have sealed. A message
 * may be lost: whoever waits for one looks for the seal from time to time.
 */
export function openSealedNews(wakes: WakeChannels) {
  const signals = new Map<string, Set<WakeSignal>>();
  const wake = (entryId: string) => signals.get(entryId)?.forEach((signal) => signal.wake());
  const channel = wakes.open('audit-sealed', { onTold: wake });
  return {
    /** Tells all processes, this one too, that entries are sealed. */
    tell(entryIds: readonly string[]): void {
      for (const id of entryIds) {
        wake(id);
        channel.tell(id);
      }
    },
    watch(entryId: string): SealWatch {
      const signal = createWakeSignal();
      const ofEntry = signals.get(entryId) ?? new Set();
      signals.set(entryId, ofEntry.add(signal));
      return {
        sealed: (ms) => signal.wait(ms, never),
        [Symbol.dispose]() {
          ofEntry.delete(signal);
          if (ofEntry.size === 0) signals.delete(entryId);
        },
      };
    },
  };
}
