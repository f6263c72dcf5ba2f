import { EventEmitter, once } from 'node:events';
import { randomUUID } from 'node:crypto';
import type { SignerClient } from '../../signer/client.ts';
import type { Seal } from '../../signer/protocol.ts';
import type { Log } from '../telemetry/log.ts';
import { createWakeSignal, sleep } from '../wake-signal.ts';
import type { KeyRegistry } from '../keys/registry.ts';
import type { SealerStore } from './sealer-store.ts';

const batchSize = 256;
/** One batch alone would wait for Postgres and the signer in turn. */
const lanes = 2;
const pollMs = 250;
const breakerMs = { first: 250, last: 5_000 };
const backlogCheckMs = 1_000;

export interface Sealer {
  /** Something was committed: look for it now rather than at the next poll. */
  readonly wake: () => void;
  readonly isBacklogFull: () => boolean;
  /** Resolves when this process has sealed another batch, or after `ms`. */
  nextBatch(ms: number): Promise<void>;
  /** Finishes the batches under way. */
  stop(): Promise<void>;
}

interface SealerOptions {
  readonly store: SealerStore;
  readonly signer: SignerClient;
  readonly registry: KeyRegistry;
  readonly log: Log;
  readonly backlogLimit: number;
}

/** Starts signing what is committed, in batches, until stopped. */
export function startSealer(options: SealerOptions): Sealer {
  const { store, signer, registry, log, backlogLimit } = options;
  const events = new EventEmitter().setMaxListeners(0);
  const signal = createWakeSignal();
  const stopping = new AbortController();
  let backlogFull = false;

  async function sealBatch(): Promise<number> {
    const claimId = randomUUID();
    const entries = await store.claim(claimId, batchSize);
    if (entries.length === 0) return 0;
    try {
      const results = await signer.seal(entries);
      const seals = results.filter((result): result is Seal => !('error' in result));
      await registry.ensureKnown(seals.map((seal) => seal.keyId));
      await store.storeSeals(claimId, seals);
      for (const result of results) {
        if (!('error' in result)) continue;
        log.error(
          { entryId: result.id, reason: result.error },
          'the signer refuses an audit entry',
        );
        await store.recordFault(claimId, result.id, result.error);
      }
      if (seals.length > 0) events.emit('sealed');
      return entries.length;
    } catch (error) {
      await store.release(claimId).catch(() => undefined);
      throw error;
    }
  }

  async function runLane(): Promise<void> {
    let pauseMs = breakerMs.first;
    while (!stopping.signal.aborted) {
      try {
        const sealed = await sealBatch();
        pauseMs = breakerMs.first;
        if (sealed < batchSize) await signal.wait(pollMs, stopping.signal);
      } catch (error) {
        log.warn({ err: error, pauseMs }, 'sealing pauses');
        await sleep(pauseMs, stopping.signal);
        pauseMs = Math.min(pauseMs * 2, breakerMs.last);
      }
    }
  }

  /** A signer that is slow fills the backlog as one that is away does, and so do other replicas. */
  async function watchBacklog(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        backlogFull = (await store.countBacklog(backlogLimit + 1)) > backlogLimit;
      } catch (error) {
        log.warn({ err: error }, 'the backlog could not be counted');
      }
      await sleep(backlogCheckMs, stopping.signal);
    }
  }

  const running = Promise.all([watchBacklog(), ...Array.from({ length: lanes }, runLane)]);
  return {
    wake: signal.wake,
    isBacklogFull: () => backlogFull,
    async nextBatch(ms) {
      await once(events, 'sealed', { signal: AbortSignal.timeout(ms) }).catch(() => undefined);
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
