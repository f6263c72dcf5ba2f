import { performance } from 'node:perf_hooks';

/** Time over which the load of the event loop is measured, in milliseconds. */
const windowMs = 200;
/** The load, from 0 to 1, from which clients rest, and the load from which they rest longest. */
const restFrom = 0.2;
const longestFrom = 0.5;
const longestRestMs = 1_000;
/** Milliseconds for which a client counts as active after its work. */
const activeMs = 1_000;

export type BusyRest = ReturnType<typeof createBusyRest>;

/**
 * Returns a function that tells for how many milliseconds a client's slot stays taken after its
 * work: up to three times as long as the work took, while the event loop is busy and other clients
 * are active. So a client that uses four slots at once gets about as much done as one that sends
 * one request at a time, and that one never waits. A client alone never rests.
 */
export function createBusyRest() {
  const loopLoad = createLoopLoad();
  /** The clients that worked last: `other` is the one that worked last before `latest`. */
  let latest = { client: '', at: -Infinity };
  let other = latest;

  function isAlone(client: string, now: number): boolean {
    if (latest.client !== client) other = latest;
    latest = { client, at: now };
    return now - other.at > activeMs;
  }

  return function restAfter(client: string, workMs: number): number {
    const isOnly = isAlone(client, performance.now());
    return isOnly ? 0 : restMs(workMs, loopLoad());
  };
}

/** Returns the rest after work of `workMs` with a load of the event loop from 0 to 1. */
export function restMs(workMs: number, load: number): number {
  const share = Math.min(1, Math.max(0, (load - restFrom) / (longestFrom - restFrom)));
  return Math.min(longestRestMs, workMs * 3 * share);
}

/** Returns a function that measures the share of time in which the event loop was busy lately. */
function createLoopLoad(): () => number {
  let from = performance.eventLoopUtilization();
  let fromMs = performance.now();
  let load = 0;
  return function loopLoad() {
    const now = performance.now();
    if (now - fromMs >= windowMs) {
      const until = performance.eventLoopUtilization();
      load = performance.eventLoopUtilization(until, from).utilization;
      from = until;
      fromMs = now;
    }
    return load;
  };
}
