import { v7 as uuidv7 } from 'uuid';
import { createBatches } from '../../async/batches.ts';
import { poll } from '../../async/repeat.ts';
import type { Tx } from '../../db/database.ts';
import { afterCommit } from '../../db/transaction.ts';
import { leaseSeconds, renewSeconds } from '../../db/leases/lease.ts';
import type { Log } from '../../telemetry/log.ts';
import {
  endDownloads,
  insertDownload,
  renewDownloads,
  type EndedDownload,
  type FileReading,
  type Sent,
} from './download-rows.ts';
import { recordDownloads, type RecorderOptions } from './recorder.ts';

interface CustodyOptions extends RecorderOptions {
  readonly log: Log;
}

/** A download under way. Call exactly one of its functions, once. */
export interface BegunDownload {
  /** Tells how the download ended. Its entry follows within seconds, or later for a range. */
  readonly end: (sent: Sent) => void;
  /** Tells that no byte was sent: there was no download. */
  readonly cancel: () => void;
}

export type Custody = ReturnType<typeof startCustody>;

const pauses = { busyMs: 1_000, idleMs: 5_000 };
const endsAtOnce = 200;

/**
 * Starts to record who reads the files of documents, until stopped. A service or job that hands out
 * the bytes of a file MUST call `begin` before the first byte.
 */
export function startCustody(options: CustodyOptions) {
  const { db, log } = options;
  /** Ids of the downloads under way in this process. */
  const underWay = new Set<string>();
  /** Downloads whose end is not stored yet, by id. */
  const ended = new Map<string, EndedDownload>();
  let renewedAt = performance.now();
  let reachableSince = performance.now();

  const store = createBatches(endsAtOnce, async (ends: readonly EndedDownload[]) => {
    await db.asService((tx) => endDownloads(tx, ends));
    for (const { id } of ends) forget(id);
    return ends;
  });

  function forget(id: string): void {
    underWay.delete(id);
    ended.delete(id);
  }

  function end(download: EndedDownload): void {
    ended.set(download.id, download);
    // If the end cannot be stored now, `work` stores it later.
    store(download).catch(() => undefined);
  }

  async function renew(): Promise<void> {
    if (performance.now() - renewedAt < renewSeconds * 1_000) return;
    const ids = [...underWay].filter((id) => !ended.has(id));
    if (ids.length > 0) await db.asService((tx) => renewDownloads(tx, ids));
    renewedAt = performance.now();
  }

  /** Resolves with whether there are downloads. */
  async function work(): Promise<boolean> {
    try {
      await renew();
      await Promise.all([...ended.values()].map(store));
      // After an outage of Postgres, other processes first renew their leases.
      const endsAbandoned = performance.now() - reachableSince > leaseSeconds * 1_000;
      return await recordDownloads(options, { endsAbandoned });
    } catch (error) {
      reachableSince = performance.now();
      throw error;
    }
  }

  const working = poll(pauses, work, (error) =>
    log.warn({ err: error }, 'downloads could not be recorded as entries; retrying'),
  );
  return {
    /**
     * Stores in `tx` that a download begins. If the process dies before the download ends, another
     * one appends its entry. `tx` may be of the reader, or of the service login for a job or an
     * operator. Throws rate_limited while too many downloads of the reader wait for their entries.
     */
    async begin(tx: Tx, reading: FileReading): Promise<BegunDownload> {
      const id = uuidv7();
      await insertDownload(tx, id, reading);
      afterCommit(tx, () => {
        underWay.add(id);
        working.soon();
      });
      return {
        end: (sent) => end({ id, sent }),
        cancel: () => end({ id, sent: undefined }),
      };
    },

    /** Stores how the downloads of this process ended, as far as they did, and stops. */
    async stop(): Promise<void> {
      await working.stop();
      await Promise.all([...ended.values()].map(store)).catch((error: unknown) =>
        log.warn({ err: error }, 'the ends of downloads were not stored'),
      );
    },
  };
}
