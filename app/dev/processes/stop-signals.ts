/**
 * Milliseconds after the first signal in which further signals are ignored as copies: npm forwards
 * a signal that the terminal has already sent to this process.
 */
const sameKeystrokeMs = 1_000;

const parentPollMs = 250;

/**
 * Returns an AbortSignal that aborts at the first SIGINT, SIGTERM or SIGHUP, or when npm has ended,
 * if npm runs this process. A further signal, more than one second later, ends this process
 * immediately; the watchdogs then stop its child processes.
 */
export function stopSignals(): AbortSignal {
  const stop = new AbortController();
  let firstAt = 0;
  abortAfterNpm(stop);
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (!stop.signal.aborted) firstAt = performance.now();
      else if (performance.now() - firstAt > sameKeystrokeMs) process.exit(1);
      stop.abort(new Error(`stopped by ${name}`));
    });
  }
  return stop.signal;
}

/**
 * Aborts when the parent of this process has ended, if npm runs it. Who sends SIGTERM to `npm
 * start` ends npm and its shell, which do not pass the signal on.
 */
function abortAfterNpm(stop: AbortController): void {
  if (process.env['npm_lifecycle_event'] === undefined) return;
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) stop.abort(new Error('stopped, since npm has ended'));
  }, parentPollMs).unref();
}
