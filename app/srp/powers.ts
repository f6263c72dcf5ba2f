import { availableParallelism } from 'node:os';
import { createThreadPool, ThreadPoolError } from '../async/thread-pool.ts';
import { generator, pad } from './group.ts';
import { power as powerOfKeys } from './modular-power.ts';
import type { PowerRequest } from './power-thread.ts';

/**
 * Number of powers after which the threads are started: each takes one to three seconds of
 * processor time to start, which a process with few logins never gets back.
 */
const powersBeforeThreads = 300;
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

/**
 * Creates the powers of a process: first by keys of OpenSSL, and once many were computed, on
 * threads of their own, which take less than half of the time.
 */
export function createPowers({
  threads = Math.ceil(availableParallelism() / 4),
  threadsAfter = powersBeforeThreads,
}: { readonly threads?: number; readonly threadsAfter?: number } = {}): Powers {
  const pool = createThreadPool<PowerRequest, Uint8Array>({
    program: new URL('./power-thread.ts', import.meta.url),
    count: threads,
    resourceLimits,
  });
  let computed = 0;
  let areReady = false;

  /** Computes a power on each thread, which starts it. Until then, and if it fails, keys serve. */
  async function startThreads(): Promise<void> {
    const request = { base: pad(generator), exponent: Buffer.of(1) };
    const starting = Array.from({ length: threads }, () => pool.run(request));
    areReady = await Promise.all(starting).then(
      () => true,
      () => false,
    );
  }

  return {
    async power(base, exponent) {
      computed += 1;
      if (computed === threadsAfter) void startThreads();
      if (!areReady) return powerOfKeys(base, exponent);
      // Arrays of their own, since a view is sent to a thread with all that it is a view of.
      const request = { base: new Uint8Array(pad(base)), exponent: new Uint8Array(exponent) };
      try {
        const secret = await pool.run(request);
        return Buffer.from(secret.buffer, secret.byteOffset, secret.byteLength);
      } catch (error) {
        if (!(error instanceof ThreadPoolError)) throw error;
        // A thread has died. Others are started after as many powers as the first ones were.
        areReady = false;
        computed = 0;
        return powerOfKeys(base, exponent);
      } finally {
        request.exponent.fill(0);
      }
    },

    onThreads: () => areReady,

    close: () => pool.close(),
  };
}
