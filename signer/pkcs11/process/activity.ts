import type { Call } from '../../ipc/messages.ts';
import type { Observer } from '../library/measured-api.ts';

const flushAfterMs = 100;

/**
 * Collects PKCS#11 calls and reports them in batches, since a message may cost more time than the
 * call that it reports.
 */
export function createActivity(report: (calls: Call[]) => void) {
  let calls: Call[] = [];
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    report(calls);
    calls = [];
  };
  const observe: Observer = (fn, seconds, returnValue) => {
    calls.push([fn, seconds, returnValue]);
    timer ??= setTimeout(flush, flushAfterMs);
  };
  return {
    observe,
    /** Reports all collected calls immediately. */
    flush,
  };
}
