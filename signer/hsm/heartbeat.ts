import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { HsmProcess } from './hsm-process.ts';

const beatsPerTimeout = 4;

/**
 * Asks the process again and again, until it has gone, whether it is there: one that is stuck in a
 * synchronous call such as C_Login overruns the answer, which ends it.
 */
export async function keepHeartbeat(process: HsmProcess, timeoutMs: number): Promise<void> {
  try {
    for (;;) {
      await process.ask({ kind: 'ping' }, z.null(), timeoutMs);
      await delay(timeoutMs / beatsPerTimeout, undefined, { ref: false });
    }
  } catch {
    // It has gone, and whoever started it sees that as well.
  }
}
