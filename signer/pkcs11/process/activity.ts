import type { Call } from '../../hsm/messages.ts';
import type { Observer } from '../library/pkcs11.ts';

const flushAfterMs = 100;

type Activity = {
  observe: Observer;
  /** Reports what is not yet reported. */
  flush(): void;
};

/** Gathers PKCS#11 calls, since a message for each would cost more than the call. */
export function createActivity(report: (calls: Call[]) => void): Activity {
  let calls: Call[] = [];
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    report(calls);
    calls = [];
  };
  return {
    observe(fn, seconds, returnValue) {
      calls.push([fn, seconds, returnValue]);
      timer ??= setTimeout(flush, flushAfterMs);
    },
    flush,
  };
}
