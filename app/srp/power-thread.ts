import { parentPort } from 'node:worker_threads';
import { power } from './modular-power.ts';

/** A power to compute, as `power` does; the reply is its result. */
export interface PowerRequest {
  readonly base: bigint;
  readonly exponent: Uint8Array;
}

parentPort?.on('message', ({ base, exponent }: PowerRequest) => {
  const result = power(base, exponent);
  exponent.fill(0);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(result);
  result.fill(0);
});
