/** A signal of the terminal comes twice under npm, which also passes its own copy on. */
const sameKeystrokeMs = 1_000;

/**
 * Aborted by the first SIGINT, SIGTERM or SIGHUP. A later one ends this process at once, and the
 * watchdogs then stop what it left.
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
