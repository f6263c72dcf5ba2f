/**
 * Resolves with the first SIGTERM or SIGINT. Ask for it before anything else: the kernel does not
 * end process 1 of a container for a signal that it does not handle.
 */
export function nextStopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, resolve);
  });
}
