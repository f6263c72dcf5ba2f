import { AsyncLocalStorage } from 'node:async_hooks';
import type { TracedCall } from '../../ipc/messages.ts';
import type { Observer } from '../library/measured-api.ts';

/** The most calls of one request that are told: a batch has hundreds that are all alike. */
const mostTold = 32;

interface Traced<T> {
  readonly value: T;
  readonly calls: readonly TracedCall[];
}

/**
 * Collects the PKCS#11 calls of single requests, which the signer records as spans: this process
 * itself sends nothing to anybody but the signer.
 */
export function createTracedCalls() {
  const current = new AsyncLocalStorage<TracedCall[]>();
  const observe: Observer = (fn, seconds, returnValue) => {
    const calls = current.getStore();
    if (calls === undefined || calls.length >= mostTold) return;
    const endedAt = performance.timeOrigin + performance.now();
    calls.push([fn, endedAt - seconds * 1_000, endedAt, returnValue]);
  };
  return {
    observe,

    /** Runs `work` and resolves with its value and the calls that it made. */
    async during<T>(work: () => Promise<T>): Promise<Traced<T>> {
      const calls: TracedCall[] = [];
      return { value: await current.run(calls, work), calls };
    },
  };
}
