import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { HsmProcess } from './hsm-process.ts';

const beatsPerTimeout = 4;

/**
 * Pings the HSM process until it has ended. A process that is stuck in a synchronous call such as
 * C_Login does not respond within `timeoutMs` and is therefore killed.
 */
export async function keepHeartbeat(process: HsmProcess, timeoutMs: number): Promise<void> {
  try {
    for (;;) {
      await process.ask({ kind: 'ping' }, z.null(), timeoutMs);
      await delay(timeoutMs / beatsPerTimeout, undefined, { ref: false });
    }
  } catch {
    // The process has ended, which its `ended` promise reports as well.
  }
}
