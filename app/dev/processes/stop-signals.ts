/**
 * Milliseconds after the first signal in which further signals are ignored as copies: npm forwards
 * a signal that the terminal has already sent to this process.
 */
const sameKeystrokeMs = 1_000;

/**
 * Returns an AbortSignal that aborts at the first SIGINT, SIGTERM or SIGHUP. A further signal, more
 * than one second later, ends this process immediately; the watchdogs then stop its child
 * processes.
 */
export function stopSignals(): AbortSignal {
  const stop = new AbortController();
  let firstAt = 0;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (!stop.signal.aborted) firstAt = performance.now();
      else if (performance.now() - firstAt > sameKeystrokeMs) process.exit(1);
      stop.abort(new Error(`stopped by ${name}`));
    });
  }
  return stop.signal;
}
