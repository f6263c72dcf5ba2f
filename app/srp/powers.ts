import { availableParallelism } from 'node:os';
import { createThreadPool, ThreadPoolError } from '../async/thread-pool.ts';
import { generator } from './group.ts';
import { power as powerHere } from './modular-power.ts';
import type { PowerRequest } from './power-thread.ts';

/**
 * Number of powers after which the threads are started: each takes a tenth of a second of processor
 * time to start, and 10 MB, which a process with few logins does without.
 */
const powersBeforeThreads = 100;
/**
 * Number of powers that a thread has, under way or waiting, above which this thread computes: it
 * then accepts fewer requests, so that the queue of powers has an end.
 */
const powersPerThread = 32;
const resourceLimits = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 };

/** Computes powers modulo N. */
export interface Powers {
  /**
   * Resolves with base^exponent mod N as 384 bytes, big-endian, for 1 < base < N − 1 and a positive
   * exponent, big-endian, in constant time. Callers must zero the exponent and the result if they
   * are secret.
   */
  power(base: bigint, exponent: Uint8Array): Promise<Buffer>;
  /** Returns whether threads compute the powers by now. */
  onThreads(): boolean;
  close(): Promise<void>;
}

interface PowersOptions {
  readonly threads?: number;
  readonly threadsAfter?: number;
  readonly perThread?: number;
}

/**
 * Creates the powers of a process: first on the calling thread, and once many were computed, on
 * threads of their own, so that logins leave the event loop to other requests.
 */
export function createPowers({
  threads = Math.ceil(availableParallelism() / 4),
  threadsAfter = powersBeforeThreads,
  perThread = powersPerThread,
}: PowersOptions = {}): Powers {
  const pool = createThreadPool<PowerRequest, Uint8Array>({
    program: new URL('./power-thread.ts', import.meta.url),
    count: threads,
    resourceLimits,
  });
  let computed = 0;
  let underWay = 0;
  let areReady = false;

  /** Computes a power on each thread, which starts it. */
  async function startThreads(): Promise<void> {
    const request = { base: generator, exponent: Buffer.of(1) };
    const starting = Array.from({ length: threads }, () => pool.run(request));
    areReady = await Promise.all(starting).then(
      () => true,
      () => false,
    );
  }

  async function powerOnThread(base: bigint, exponent: Uint8Array): Promise<Buffer> {
    // An array of its own, since a view is sent to a thread with all that it is a view of.
    const request = { base, exponent: new Uint8Array(exponent) };
    underWay += 1;
    try {
      const result = await pool.run(request);
      return Buffer.from(result.buffer, result.byteOffset, result.byteLength);
    } catch (error) {
      if (!(error instanceof ThreadPoolError)) throw error;
      // A thread has died. Others are started after as many powers as the first ones were.
      areReady = false;
      computed = 0;
      return powerHere(base, exponent);
    } finally {
      underWay -= 1;
      request.exponent.fill(0);
    }
  }

  return {
    async power(base, exponent) {
      computed += 1;
      if (computed === threadsAfter) void startThreads();
      const hasRoom = areReady && underWay < threads * perThread;
      return hasRoom ? powerOnThread(base, exponent) : powerHere(base, exponent);
    },

    onThreads: () => areReady,

    close: () => pool.close(),
  };
}
