/**
 * Loaded into the app by --import. At each SIGUSR2 it writes how late its event loop was since the
 * one before, as JSON, to the file that EVENT_LOOP_REPORT names.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

/** Milliseconds. */
export interface EventLoopReport {
  p99: number;
  max: number;
}

const resolutionMs = 10;
const file = process.env['EVENT_LOOP_REPORT'];

if (isMainThread && file !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  process.on('SIGUSR2', () => {
    // The histogram holds the time between two samples: what is beyond the interval is lateness.
    const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - resolutionMs);
    const report: EventLoopReport = { p99: late(delay.percentile(99)), max: late(delay.max) };
    delay.reset();
    writeFileSync(`${file}.new`, JSON.stringify(report));
    renameSync(`${file}.new`, file);
  });
}
