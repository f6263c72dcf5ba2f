import { inSpan } from '../../../signer/protocol/tracing/spans.ts';
import type { SignerClient } from '../../../signer/protocol/client.ts';
import { SignerUnavailable } from '../../../signer/protocol/signer-error.ts';
import { tokenAway } from '../../../signer/protocol/token-unavailable.ts';
import type { Clock } from '../../async/clock.ts';
import type { AppendingSpans } from '../../audit-trail/appending-spans.ts';
import type { KeyRegistry } from '../../signing-keys/registry.ts';
import type { Log } from '../../telemetry/log.ts';
import type { WakeChannels } from '../../redis/wake-channels.ts';
import { sleep, type WakeSignal } from '../../async/wake-signal.ts';
import { createBatchSize } from './batch-size.ts';
import {
  earlyEntries,
  mayBeToBlame,
  type ClaimedEntry,
  type EntrySigning,
  type SealFault,
  type Signed,
} from './entry-signing.ts';
import { openSealedNews } from './sealed-news.ts';
import type { Claim, SealerStore } from './sealer-store.ts';
import { createSealingBreaker, type Pause } from './signer-breaker.ts';

/** Number of concurrent batches: while one batch waits for Postgres, another uses the signer. */
const lanes = 2;
/**
 * How long a lane waits for a wake before it looks for entries: longer each time that it finds
 * none. Processes that append entries wake their own lanes.
 */
const pollMs = { first: 250, last: 4_000 };
/**
 * How long a lane lets new entries accumulate, since each batch costs two transactions and a call
 * of the signer.
 */
const restMs = 50;

/** A batch that the signer signed, or failed on. */
export interface SignedBatch {
  readonly entries: number;
  readonly seconds: number;
  readonly isSigned: boolean;
}

export type Sealer = ReturnType<typeof startSealer>;

interface SealerOptions {
  readonly store: SealerStore;
  readonly signing: EntrySigning;
  readonly signer: Pick<SignerClient, 'health'>;
  /** The spans that the trace of a batch is linked with. */
  readonly spans?: Pick<AppendingSpans, 'take'>;
  readonly registry: KeyRegistry;
  /** Woken after a commit, so that new entries are found before the next poll. */
  readonly signal: WakeSignal;
  readonly wakes: WakeChannels;
  /** Called for each batch after the signer's response. */
  readonly onBatch: (batch: SignedBatch) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Starts to sign committed entries in batches, until stopped. */
export function startSealer(options: SealerOptions) {
  const { store, signing, signer, spans, registry, signal, wakes, onBatch, clock, log } = options;
  const stopping = new AbortController();
  const batchSize = createBatchSize();
  const breaker = createSealingBreaker(clock, log);
  const news = openSealedNews(wakes);

  /** Seals one batch. Resolves with whether it found entries, and whether more may be waiting. */
  async function sealBatch(): Promise<{ readonly isEmpty: boolean; readonly mayBeMore: boolean }> {
    const limit = batchSize.current;
    const { keyId } = await registry.active('audit');
    const claim = await store.claim(limit);
    const { entries } = claim;
    if (entries.length === 0) {
      await closeWhenReady();
      return { isEmpty: true, mayBeMore: false };
    }
    // Many requests wait for a batch, so that it is a trace of its own.
    const links = spans?.take(idsOf(entries)) ?? [];
    const attributes = { 'probatio.entries': entries.length };
    return inSpan('seal batch', { root: true, links, attributes }, async () => {
      const mayBeMore = await sealClaimed(claim, keyId);
      return { isEmpty: false, mayBeMore: mayBeMore ?? entries.length === limit };
    });
  }

  /** Seals claimed entries. Resolves with true if they must be claimed again. */
  async function sealClaimed(claim: Claim, keyId: string): Promise<true | undefined> {
    try {
      const { seals, faults, early } = await sign(keyId, claim.entries);
      if (!(await store.storeSeals(claim, { keyId, seals }))) {
        await store.release(claim);
        await registry.refresh();
        return true;
      }
      await recordFaults(claim, faults);
      news.tell(idsOf(seals));
      if (early.length > 0) throw new SignerUnavailable('clock_skew', earlyEntries);
      if (seals.length > 0) breaker.succeeded();
      return undefined;
    } catch (error) {
      await giveBack(claim, error).catch(() => undefined);
      throw error;
    }
  }

  async function giveBack(claim: Claim, error: unknown): Promise<void> {
    const isToBlame = claim.entries.length === 1 && mayBeToBlame(error);
    await (isToBlame ? store.stepAside(claim) : store.release(claim));
  }

  async function sign(keyId: string, entries: readonly ClaimedEntry[]): Promise<Signed> {
    const startedAt = performance.now();
    const tell = (isSigned: boolean) => {
      const seconds = (performance.now() - startedAt) / 1_000;
      onBatch({ entries: entries.length, seconds, isSigned });
    };
    try {
      const signed = await signing.sign(keyId, entries);
      batchSize.succeeded(entries.length, performance.now() - startedAt);
      tell(true);
      return signed;
    } catch (error) {
      batchSize.failed();
      tell(false);
      throw error;
    }
  }

  /**
   * Closes the breaker if no entry is pending and the HSM is ready: another replica may have sealed
   * the entries, so that no batch of this process would show the recovery, or another reason.
   */
  async function closeWhenReady(): Promise<void> {
    if (breaker.pause === undefined || (await store.hasWaiting())) return;
    const { token } = await signer.health();
    if (token === 'ready') breaker.succeeded();
    else breaker.failed(tokenAway(token));
  }

  async function recordFaults(claim: Claim, faults: readonly SealFault[]): Promise<void> {
    for (const fault of faults) {
      log.error({ entryId: fault.id, reason: fault.reason }, 'an audit entry cannot be sealed');
      await store.recordFault(claim, fault);
    }
  }

  async function runLane(): Promise<void> {
    let wait = pollMs.first;
    while (!stopping.signal.aborted) {
      try {
        const { isEmpty, mayBeMore } = await sealBatch();
        wait = isEmpty ? Math.min(2 * wait, pollMs.last) : pollMs.first;
        if (mayBeMore) {
          signal.wakeOne();
          continue;
        }
        await sleep(restMs, stopping.signal);
        await signal.wait(wait, stopping.signal);
      } catch (error) {
        breaker.failed(error);
        await breaker.pauseLane(stopping.signal);
      }
    }
  }

  const running = Promise.all(Array.from({ length: lanes }, runLane));
  return {
    /** Since when and why this process cannot seal; undefined while it can. */
    get pause(): Pause | undefined {
      return breaker.pause;
    },
    /** Begins to wait for the seal of an entry, whichever process seals it. */
    watch: news.watch,
    /** Stops claiming entries, and resolves once the batches under way are finished. */
    async stop(): Promise<void> {
      stopping.abort();
      await running;
    },
  };
}

function idsOf(entries: readonly { readonly id: string }[]): string[] {
  return entries.map(({ id }) => id);
}
