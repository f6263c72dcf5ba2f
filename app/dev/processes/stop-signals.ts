/** Time within which a second signal is a copy: npm forwards the signal that the terminal sent. */
const sameKeystrokeMs = 1_000;

/**
 * Returns a signal that aborts at the first SIGINT, SIGTERM or SIGHUP. A later one ends this
 * process at once, and the watchdogs then stop the processes that it started.
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
